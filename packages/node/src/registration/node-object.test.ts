import assert from "node:assert/strict";
import { test } from "node:test";
import { healthyConditions, type NodeFacts, type NodeStatus, notReady } from "./node-facts.ts";
import { forgeNode, forgeStatus, heartbeatPatch, metadataPatch, statusPatch, timeOf } from "./node-object.ts";

const nodeInfo = {
  architecture: "amd64",
  bootID: "b",
  containerRuntimeVersion: "r://1",
  kernelVersion: "6",
  kubeProxyVersion: "",
  kubeletVersion: "v1.36.0",
  machineID: "m",
  operatingSystem: "linux",
  osImage: "Linux",
  systemUUID: "s",
};
const facts: NodeFacts = {
  addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
  capacity: { cpu: "2", memory: "1024Ki" },
  allocatable: { cpu: "1", memory: "512Ki" },
  conditions: healthyConditions(),
  nodeInfo,
  kubeletPort: 10250,
};
const identity = { name: "n", labels: { a: "1" }, annotations: { b: "2" }, machine: "m1" };
const noon = Date.UTC(2030, 0, 1, 12);

test("a new node has its labels, taints, machine and a whole status", () => {
  const taint = { key: "k", effect: "NoSchedule" } as const;
  const node = forgeNode({ ...identity, taints: [taint], providerID: "p://1" }, facts, noon);
  assert.deepEqual(node.metadata, {
    name: "n",
    labels: { a: "1" },
    annotations: { b: "2", "fjord.dev/machine": "m1" },
  });
  assert.deepEqual(node.spec, { taints: [taint], providerID: "p://1" });
  assert.equal(node.status?.daemonEndpoints?.kubeletEndpoint?.Port, 10250);
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  assert.equal(ready?.status, "True");
  assert.equal(ready?.lastTransitionTime, "2030-01-01T12:00:00Z");
});

test("labels that others gave stay, and those of the node's own come back", () => {
  const node = forgeNode(identity, facts, noon);
  assert.equal(metadataPatch(identity, node), undefined);
  node.metadata.labels = { other: "x" };
  assert.deepEqual(metadataPatch(identity, node), { metadata: { labels: { a: "1" } } });
});

test("a status that has not changed needs no patch, whatever the time is", () => {
  const before = forgeStatus(facts, undefined, noon);
  assert.equal(statusPatch(before, forgeStatus(facts, before, noon + 60_000)), undefined);
});

test("a condition that changes takes a new transition time, and others keep theirs", () => {
  const before = forgeStatus(facts, undefined, noon);
  const conditions = [...facts.conditions.filter(({ type }) => type !== "Ready"), notReady("the runtime is away")];
  const after = forgeStatus({ ...facts, conditions }, before, noon + 60_000);
  const times = Object.fromEntries((after.conditions ?? []).map((each) => [each.type, each.lastTransitionTime]));
  assert.equal(times.Ready, timeOf(noon + 60_000));
  assert.equal(times.DiskPressure, timeOf(noon));
  const patch = statusPatch(before, after) as { status: NodeStatus };
  assert.deepEqual(Object.keys(patch.status), ["conditions"]);
});

test("only what changed is written, with addresses as a whole", () => {
  const before = forgeStatus(facts, undefined, noon);
  const addresses = [{ type: "InternalIP", address: "10.0.0.2" }];
  const patch = statusPatch(before, forgeStatus({ ...facts, addresses }, before, noon)) as { status: NodeStatus };
  assert.deepEqual(patch.status.addresses, [{ $patch: "replace" }, ...addresses]);
  assert.deepEqual(Object.keys(patch.status), ["addresses", "conditions"]);
});

test("conditions of others are no difference", () => {
  const before = forgeStatus(facts, undefined, noon);
  before.conditions?.push({ type: "NetworkUnavailable", status: "False" });
  assert.equal(statusPatch(before, forgeStatus(facts, before, noon)), undefined);
});

test("an extended resource that someone added to the capacity becomes allocatable", () => {
  const before = forgeStatus(facts, undefined, noon);
  before.capacity = { ...before.capacity, "example.com/dongle": "3" };
  const status = forgeStatus(facts, before, noon);
  assert.equal(status.allocatable?.["example.com/dongle"], "3");
  assert.equal(status.capacity?.["example.com/dongle"], undefined);
  assert.ok(statusPatch(before, status) !== undefined);
  before.allocatable = { ...before.allocatable, "example.com/dongle": "3" };
  assert.equal(statusPatch(before, status), undefined);
});

test("what the API writes in other words is not written again and again", () => {
  const sent = forgeStatus({ ...facts, capacity: { cpu: "1000m" } }, undefined, noon);
  const got = { ...sent, capacity: { cpu: "1" } };
  assert.equal(statusPatch(got, sent, { sent, got }), undefined);
  assert.ok(statusPatch(got, sent) !== undefined);
  assert.ok(statusPatch({ ...got, capacity: { cpu: "7" } }, sent, { sent, got }) !== undefined);
});

test("a heartbeat is nothing but conditions", () => {
  const status = forgeStatus(facts, undefined, noon);
  assert.deepEqual(heartbeatPatch(status), { status: { conditions: status.conditions } });
});
