import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AddressPlan, CONSUMER_LABEL, Link, newObject, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { ApiError, type KubeClient, Pod, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { wireguardKeys } from "@fjord/testbed/namespaces";
import type { Home } from "../home.ts";
import { HeardNetworks } from "./heard-networks.ts";
import { CardsBetween } from "./introductions/cards-between.ts";
import { HeardIntroductions } from "./introductions/heard-introductions.ts";
import { KeyProofs } from "./key-proofs.ts";
import { LinkKey } from "./link-key.ts";
import { NetworkController } from "./network-controller.ts";
import { writable } from "./test-api.ts";

const RANGE = "10.42.0.0/16";
/** A consumer that means harm, whose id comes first, and one that does not. */
const [EVIL, HONEST, LATER] = ["a".repeat(26), "h".repeat(26), "z".repeat(26)];
const OWN = "o".repeat(26);
const keyOf = (letter: string) => `${letter.repeat(42)}A=`;

const guestOf = (consumer: string, ip: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `guest-${ip}`, namespace: `shop-${consumer.slice(0, 3)}`, labels: { [CONSUMER_LABEL]: consumer } },
  spec: { containers: [], nodeName: "n" },
  status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
});

describe("a consumer whose words about its network are meant to harm", () => {
  let server: FaultServer;
  let key: LinkKey;
  const heard = new HeardNetworks();
  const stop = new AbortController();
  let running: Promise<unknown>;
  /** Whether the API takes no Link of the consumer that means harm, as if it were too large. */
  let isRefusing = false;

  const says = (id: string, facts: object) =>
    heard.route.handle({
      caller: { id, publicKey: "" },
      params: {},
      body: {
        network: {
          endpoints: [],
          ranges: ["10.50.0.0/16"],
          names: [{ range: RANGE, called: "240.9.0.0/16" }],
          ...facts,
        },
      },
      signal: stop.signal,
    });
  const linkOf = (id: string) => server.list(Link).find(({ spec }) => spec.site === id);
  const reasonOf = (id: string) =>
    server.list(AddressPlan).find(({ spec }) => spec.site === id)?.status?.conditions?.[0];
  const until = async (what: string, holds: () => boolean) => {
    for (const deadline = Date.now() + 30_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 10)))
      assert.ok(Date.now() < deadline, `${what}: ${JSON.stringify(server.list(Link).map(({ spec }) => spec))}`);
  };

  before(async () => {
    server = await FaultServer.start();
    const site = newObject(Site, { metadata: { name: "own" }, spec: { network: { podRanges: [RANGE] } } });
    server.create(Site, site as never);
    server.create(Pod, guestOf(EVIL, "10.42.0.7"));
    server.create(Pod, guestOf(HONEST, "10.42.0.8"));
    server.create(Pod, guestOf(LATER, "10.42.0.9"));
    const api = writable(server);
    const client = new Proxy(api, {
      get: (target, property) => {
        const value = Reflect.get(target, property) as (...args: unknown[]) => unknown;
        if (property !== "patch" && property !== "create") return value;
        return async (kind: { plural: string }, ...args: unknown[]) => {
          const text = JSON.stringify(args[0]);
          if (isRefusing && kind.plural === "links" && text.includes(EVIL))
            throw new ApiError({ action: "patch", statusCode: 500, text: "etcdserver: request is too large" });
          return await value(kind, ...args);
        };
      },
    }) as KubeClient;
    key = await LinkKey.load(client, "fjord-system");
    const means = { clock: systemClock, random: Math.random, logger: silentLogger };
    const caches = new SharedCaches({ ...means, client });
    const home = {
      ...means,
      client,
      caches,
      namespace: "fjord-system",
      identity: { id: OWN },
    } as unknown as Home;
    const never = { onChange: () => () => {} };
    const controller = new NetworkController({
      home,
      own: { object: () => server.list(Site)[0], nodes: () => [], ...never },
      key,
      heard,
      introductions: new HeardIntroductions({ id: OWN, accepts: () => false, cardFor: () => undefined }),
      cards: new CardsBetween(),
      carrier: { open: async () => undefined, close: () => {} },
      serviceRanges: [],
      sites: { get: () => undefined, list: () => [], ...never },
      contracts: { of: () => [{}], ...never } as never,
      twins: { namespacesAt: () => [], sitesOf: () => [], ...never } as never,
      nodes: { get: () => undefined, ...never } as never,
    });
    const watching = caches.run(stop.signal);
    await caches.waitForSync(stop.signal);
    running = Promise.all([watching, controller.run(stop.signal, stop.signal)]);
    await says(HONEST, { publicKey: keyOf("h") });
    await says(EVIL, { publicKey: keyOf("a"), ranges: ["10.60.0.0/16"] });
    await until("both have links", () => linkOf(HONEST) !== undefined && linkOf(EVIL) !== undefined);
  });
  after(async () => {
    stop.abort();
    await running.catch(() => {});
    await server[Symbol.asyncDispose]();
  });

  it("takes no key that another consumer has, though its id comes first: it loses its own link alone", async () => {
    await says(EVIL, { publicKey: keyOf("h"), ranges: ["10.60.0.0/16"] });
    await until("its link is gone", () => linkOf(EVIL) === undefined);
    assert.equal(linkOf(HONEST)?.spec.publicKey, keyOf("h"));
    assert.equal(reasonOf(EVIL)?.reason, "KeyTaken");
    assert.match(reasonOf(EVIL)?.message ?? "", new RegExp(HONEST));
    assert.equal(reasonOf(HONEST)?.reason, "NamesKnown");
  });

  it("takes no key that another one is about to use", async () => {
    await says(HONEST, { publicKey: keyOf("h"), nextKey: keyOf("i") });
    await until("it is known", () => linkOf(HONEST)?.spec.nextKey === keyOf("i"));
    await says(EVIL, { publicKey: keyOf("a"), nextKey: keyOf("i"), ranges: ["10.60.0.0/16"] });
    await until("it has its link again", () => linkOf(EVIL)?.spec.publicKey === keyOf("a"));
    assert.equal(linkOf(EVIL)?.spec.nextKey, undefined);
    await says(HONEST, { publicKey: keyOf("i") });
    await until("the honest one has it", () => linkOf(HONEST)?.spec.publicKey === keyOf("i"));
  });

  it("loses a key that it was first to name as soon as another proves to have it, and takes no proof of others for its own", async () => {
    const pair = wireguardKeys();
    const proofs = new KeyProofs();
    const proof = (from: string, to = OWN) => proofs.of(pair.private, key.publicKey ?? "", from, to);
    await says(EVIL, { publicKey: pair.public, ranges: ["10.60.0.0/16"] });
    await until("it has the key", () => linkOf(EVIL)?.spec.publicKey === pair.public);
    await says(HONEST, { publicKey: keyOf("i"), nextKey: pair.public });
    await says(HONEST, { publicKey: keyOf("i"), nextKey: pair.public, keyProof: proof(EVIL) });
    await until("it is heard", () => linkOf(HONEST)?.spec.publicKey === keyOf("i"));
    assert.equal(linkOf(HONEST)?.spec.nextKey, undefined, "nothing is proven");
    await says(HONEST, { publicKey: keyOf("i"), nextKey: pair.public, keyProof: proof(HONEST) });
    await until("the one that has proven it has it", () => linkOf(HONEST)?.spec.nextKey === pair.public);
    await until("the other has no link", () => linkOf(EVIL) === undefined);
    assert.equal(reasonOf(EVIL)?.reason, "KeyTaken");
    // What it has seen of others, and what this site itself shows to it.
    for (const keyProof of [proof(HONEST), key.proof(pair.public, OWN, EVIL)])
      await says(EVIL, { publicKey: pair.public, keyProof, ranges: ["10.60.0.0/16"] });
    await says(HONEST, { publicKey: pair.public, keyProof: proof(HONEST) });
    await until("the honest one uses it", () => linkOf(HONEST)?.spec.publicKey === pair.public);
    assert.equal(linkOf(EVIL), undefined);
    await says(HONEST, { publicKey: keyOf("i") });
    await until("it has left it", () => linkOf(HONEST)?.spec.publicKey === keyOf("i"));
  });

  it("does not take this site's own key either, and whoever waits for a key has it once it is left", async () => {
    await says(EVIL, { publicKey: key.publicKey, ranges: ["10.60.0.0/16"] });
    await until("its link is gone", () => linkOf(EVIL) === undefined);
    assert.match(reasonOf(EVIL)?.message ?? "", /this site/);
    await says(LATER, { publicKey: keyOf("i"), ranges: ["10.61.0.0/16"] });
    await until("it is told why it has no link", () => reasonOf(LATER)?.reason === "KeyTaken");
    await says(HONEST, { publicKey: keyOf("j") });
    await until("the key is free", () => linkOf(LATER)?.spec.publicKey === keyOf("i"));
    assert.equal(reasonOf(LATER)?.reason, "NamesKnown");
  });

  it("keeps no way to an address that is another's by now, where its own words make its Link one that the API does not take", async () => {
    await says(EVIL, { publicKey: keyOf("a"), ranges: ["10.60.0.0/16"] });
    await until("it has its guest", () => linkOf(EVIL)?.spec.groups[0]?.local[0] === "10.42.0.7");
    isRefusing = true;
    server.delete(Pod, { name: "guest-10.42.0.7", namespace: "shop-aaa" });
    server.create(Pod, guestOf(HONEST, "10.42.0.7"));
    await until(
      "the honest one has the address",
      () => linkOf(HONEST)?.spec.groups[0]?.local.includes("10.42.0.7") ?? false,
    );
    await until("nothing of the other leads there", () => !JSON.stringify(linkOf(EVIL) ?? "").includes("10.42.0.7"));
    isRefusing = false;
  });
});
