import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoints, Node, Pod, Service } from "@fjord/kube";
import { addressTypesOf, forgeEndpoint, isReachable, isReachedOtherwise, portsOn } from "./endpoint-forge.ts";
import { groupsOf } from "./endpoint-slice-controller.ts";
import { mirrorGroups } from "./mirroring-controller.ts";
import { subsetsOf } from "./subsets.ts";

interface Sketch {
  ip?: string;
  ips?: string[];
  ready?: boolean;
  going?: boolean;
  phase?: string;
  ports?: object[];
}
function pod(
  name: string,
  { ip = "10.0.0.1", ips, ready = true, going, phase = "Running", ports = [] }: Sketch = {},
): Pod {
  return {
    metadata: { name, namespace: "shop", uid: name, ...(going && { deletionTimestamp: "2030-01-01T00:00:00Z" }) },
    spec: { nodeName: "n1", containers: [{ name: "main", ports }] },
    status: {
      phase,
      podIP: ip,
      podIPs: (ips ?? [ip]).map((ip) => ({ ip })),
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    },
  } as unknown as Pod;
}
function service(spec: object = {}): Service {
  const ports = [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }];
  return {
    metadata: { name: "web", namespace: "shop" },
    spec: { clusterIP: "10.96.0.1", ipFamilies: ["IPv4"], ports, ...spec },
  } as unknown as Service;
}
const node = { metadata: { name: "n1", labels: { "topology.kubernetes.io/zone": "a" } } } as unknown as Node;

test("an endpoint says whether its pod is ready, serves and is going", () => {
  const conditions = (sketch: Sketch, spec: object = {}) =>
    forgeEndpoint(pod("p", sketch), node, service(spec), "IPv4").conditions;
  assert.deepEqual(conditions({}), { ready: true, serving: true, terminating: false });
  assert.deepEqual(conditions({ ready: false }), { ready: false, serving: false, terminating: false });
  assert.deepEqual(conditions({ going: true }), { ready: false, serving: true, terminating: true });
  const all = { publishNotReadyAddresses: true };
  assert.deepEqual(conditions({ ready: false }, all), { ready: true, serving: false, terminating: false });
  assert.equal(forgeEndpoint(pod("p"), node, service(), "IPv4").zone, "a");
});

test("ports are found by number, or by the name that a container gives them", () => {
  const named = service({ ports: [{ name: "http", port: 80, targetPort: "web", protocol: "TCP" }] });
  const ports = [
    { name: "web", containerPort: 9000, protocol: "UDP" },
    { name: "web", containerPort: 9001 },
  ];
  assert.deepEqual(portsOn(pod("p", { ports }), named), [{ name: "http", port: 9001, protocol: "TCP" }]);
  assert.deepEqual(portsOn(pod("p"), named), []);
  assert.equal(portsOn(pod("p"), service())[0]?.port, 8080);
});

test("families follow the service, and each has endpoints of its own", () => {
  assert.deepEqual(addressTypesOf(service({ ipFamilies: undefined })), ["IPv4"]);
  assert.deepEqual(addressTypesOf(service({ ipFamilies: undefined, clusterIP: "None" })), ["IPv4", "IPv6"]);
  const dual = pod("p", { ips: ["10.0.0.1", "fd00::1"] });
  const groups = groupsOf(service(), [dual], ["IPv4", "IPv6"], () => node);
  assert.deepEqual(
    groups.map(({ addressType, endpoints }) => [addressType, endpoints[0]?.addresses]),
    [
      ["IPv4", ["10.0.0.1"]],
      ["IPv6", ["fd00::1"]],
    ],
  );
  assert.deepEqual(
    groupsOf(service(), [dual], ["IPv4"], () => undefined),
    [],
    "its node is gone",
  );
});

test("pods that have ended or have no address are left out, and heartbeats do not matter", () => {
  assert.equal(isReachable(pod("p", { phase: "Failed" })), false);
  assert.equal(isReachable(pod("p", { ips: [], ip: "" })), false);
  assert.equal(isReachedOtherwise(pod("p"), pod("p")), false);
  assert.equal(isReachedOtherwise(pod("p"), pod("p", { ready: false })), true);
  assert.equal(isReachedOtherwise(pod("p"), pod("p", { going: true })), true);
});

test("Endpoints hold together what has the same ports, ready and not", () => {
  const pods = [
    pod("a", { ip: "10.0.0.10" }),
    pod("b", { ip: "10.0.0.9" }),
    pod("c", { ready: false }),
    pod("d", { going: true }),
  ];
  const { subsets } = subsetsOf(service(), pods);
  assert.equal(subsets.length, 1);
  assert.deepEqual(
    subsets[0]?.addresses?.map(({ ip }) => ip),
    ["10.0.0.9", "10.0.0.10"],
  );
  assert.equal(subsets[0]?.notReadyAddresses?.length, 1);
  const headless = service({ clusterIP: "None", ports: undefined });
  assert.equal(subsetsOf(headless, pods).subsets[0]?.ports, undefined);
});

test("no more than a thousand are listed, those that are ready first", () => {
  const pods = Array.from({ length: 1002 }, (_, i) =>
    pod(`p${i}`, { ready: i !== 0, ip: `10.0.${i >> 8}.${i & 255}` }),
  );
  const { subsets, truncated } = subsetsOf(service(), pods);
  assert.deepEqual([truncated, subsets[0]?.addresses?.length, subsets[0]?.notReadyAddresses], [true, 1000, undefined]);
});

test("hand-made Endpoints are mirrored by family", () => {
  const subsets = [
    {
      addresses: [{ ip: "1.2.3.4" }, { ip: "fd00::2" }],
      notReadyAddresses: [{ ip: "1.2.3.5" }],
      ports: [{ port: 80 }],
    },
  ];
  const groups = mirrorGroups({ subsets } as unknown as Endpoints);
  assert.deepEqual(
    groups.map(({ addressType, endpoints }) => [addressType, endpoints.map(({ conditions }) => conditions?.ready)]),
    [
      ["IPv4", [true, false]],
      ["IPv6", [true]],
    ],
  );
});
