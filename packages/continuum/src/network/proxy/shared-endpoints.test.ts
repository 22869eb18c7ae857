import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EndpointSlice, Pod } from "@fjord/kube";
import { parseCidrs } from "../ranges.ts";
import { type Open, openText, parseOpen, parseOpened } from "./carried-open.ts";
import { endpointsWithin, type SharedThings, sharedBy } from "./shared-endpoints.ts";

const slice = (
  namespace: string,
  addresses: string[],
  port: number | undefined,
  protocol?: "TCP" | "UDP",
): EndpointSlice => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "s", namespace },
  addressType: "IPv4",
  ports: [{ ...(port !== undefined && { port }), ...(protocol && { protocol }) }],
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: false } })),
});
const pod = (namespace: string, podIP: string, more: { spec?: object; status?: object } = {}): Pod =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace },
    spec: { containers: [{ name: "main", ports: [{ containerPort: 9000 }] }], ...more.spec },
    status: { phase: "Running", podIP, ...more.status },
  }) as Pod;

const ranges = parseCidrs(["127.88.0.0/22"]);
const shared = (more: Partial<SharedThings> = {}): SharedThings => ({
  namespaces: new Set(["shop"]),
  ranges,
  pods: [pod("shop", "127.88.0.7"), pod("secret", "127.88.0.8")],
  slices: [slice("shop", ["127.88.0.7"], 8080), slice("secret", ["127.88.0.8"], 8080)],
  ...more,
});

describe("what may be listened for", () => {
  it("is what Services of shared namespaces have in the range, ready or not, by TCP and UDP", () => {
    const slices = [
      slice("shop", ["127.88.0.7", "127.88.9.9", "10.0.0.1"], 8080),
      slice("shop", ["127.88.0.7"], 53, "UDP"),
      slice("shop", ["127.88.0.9"], undefined),
      slice("other", ["127.88.0.8"], 8080),
    ];
    assert.deepEqual(
      [...endpointsWithin(slices, new Set(["shop"]), ranges, 10)],
      [
        [
          "shop",
          {
            endpoints: [
              { address: "127.88.0.7", protocol: "TCP", port: 8080, namespace: "shop" },
              { address: "127.88.0.7", protocol: "UDP", port: 53, namespace: "shop" },
            ],
            isCut: false,
          },
        ],
      ],
    );
  });

  it("is no more than so many of a namespace, each counted once, and what is left out is said", () => {
    const addresses = ["127.88.0.7", "127.88.0.8", "127.88.0.9"];
    const slices = [slice("shop", addresses.slice(0, 2), 8080), slice("shop", addresses.slice(0, 2), 8080)];
    const found = (more: EndpointSlice[]) =>
      endpointsWithin([...slices, ...more], new Set(["shop", "other"]), ranges, 2);
    assert.equal(found([]).get("shop")?.isCut, false);
    const cut = found([slice("shop", addresses, 8080), slice("other", addresses.slice(0, 1), 8080)]);
    assert.deepEqual(
      [...cut.values()].map(({ endpoints, isCut }) => [endpoints.length, isCut]),
      [
        [2, true],
        [1, false],
      ],
    );
  });
});

describe("what a peer is led to", () => {
  it("is a pod of a shared namespace, at a port of a Service or one that it declares", () => {
    for (const port of [8080, 9000])
      assert.equal(sharedBy({ protocol: "TCP", address: "127.88.0.7", port }, shared())?.namespace, "shop");
  });

  it("is nothing else", () => {
    const at = (address: string, port: number, more?: Partial<SharedThings>) =>
      sharedBy({ protocol: "TCP", address, port }, shared(more));
    assert.equal(
      sharedBy({ protocol: "UDP", address: "127.88.0.7", port: 8080 }, shared()),
      undefined,
      "another protocol",
    );
    assert.equal(at("127.88.0.7", 22), undefined, "a port of the machine that nobody has declared");
    assert.equal(at("127.88.0.8", 8080), undefined, "another namespace");
    assert.equal(at("127.0.0.1", 8080), undefined, "the machine itself");
    // Whoever may write slices, as a tenant may in its own namespaces, cannot lead elsewhere by them.
    for (const address of ["127.0.0.1", "127.31.0.1", "10.0.0.1", "169.254.169.254", "127.88.0.8"])
      assert.equal(at(address, 6443, { slices: [slice("shop", [address], 6443)] }), undefined, address);
    for (const more of [
      { spec: { hostNetwork: true } },
      { status: { phase: "Succeeded" } },
      { status: { phase: "Failed" } },
    ])
      assert.equal(at("127.88.0.7", 8080, { pods: [pod("shop", "127.88.0.7", more)] }), undefined);
    assert.equal(at("127.88.0.7", 8080, { namespaces: new Set() }), undefined);
    assert.equal(at("127.88.0.7", 8080, { ranges: parseCidrs(["127.88.4.0/22"]) }), undefined);
    assert.equal(at("127.88.0.7", 0), undefined);
  });
});

describe("a question of a peer's", () => {
  const client = { namespace: "shop", name: "web-1", labels: { app: "web" }, address: "127.89.0.3" };
  const wanted = { protocol: "TCP", address: "127.88.0.7", port: 8080 } as const;

  it("is read as it is written", () => {
    for (const open of [wanted, { ...wanted, client }, { ...wanted, protocol: "UDP" }, "datagrams"] as Open[])
      assert.deepEqual(parseOpen(openText(open)), open);
    assert.deepEqual(parseOpened("{}"), {});
    assert.deepEqual(parseOpened('{"refusal":{"code":"NotShared","message":"no"}}'), {
      refusal: { code: "NotShared", message: "no" },
    });
  });

  it("is nothing else", () => {
    for (const change of [
      { address: "localhost" },
      { address: "127.1" },
      { address: "0127.0.0.1" },
      { address: "127.0.0.01" },
      { address: "127.0.0.256" },
      { address: "::1" },
      { address: 7 },
      { port: 0 },
      { port: 65536 },
      { port: "80" },
      { port: 80.5 },
      { protocol: "SCTP" },
      { client: "web" },
      { client: { ...client, address: "localhost" } },
      { client: { ...client, labels: { app: 7 } } },
      { client: { ...client, labels: { app: "x".repeat(64) } } },
      { client: { ...client, name: undefined } },
      { client: { ...client, labels: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [index, ""])) } },
    ])
      assert.equal(parseOpen(JSON.stringify({ ...wanted, ...change })), undefined, JSON.stringify(change));
    for (const text of ["", "{", "[]", "null", '"TCP"', "7"]) assert.equal(parseOpen(text), undefined, text);
    for (const text of ["", "[]", '{"refusal":{"code":7,"message":""}}', '{"server":{"namespace":1}}'])
      assert.equal(parseOpened(text), undefined, text);
  });
});
