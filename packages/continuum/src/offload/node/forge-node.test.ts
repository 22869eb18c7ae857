import assert from "node:assert/strict";
import { test } from "node:test";
import { forgeFacts, forgeIdentity, forgeTaints, type NodeInputs } from "./forge-node.ts";
import { contractOf, PROVIDER, virtualNodeOf } from "./test-objects.ts";

const inputsOf = (more: Partial<NodeInputs> = {}): NodeInputs => ({
  virtualNode: virtualNodeOf(),
  contract: contractOf(),
  published: { name: "Lively Wave", architectures: ["arm64"], operatingSystems: ["linux"] },
  address: "10.1.2.3",
  kubeletPort: 10_251,
  kubeletVersion: "v1.36.0+fjord.0.1.0",
  readiness: { status: "True", reason: "ProviderReady", message: "the provider answers" },
  knownResources: [],
  ...more,
});
const conditionOf = (facts: ReturnType<typeof forgeFacts>, type: string) =>
  facts.conditions.find((condition) => condition.type === type);

test("a node has the amounts of its contract, and room for as many pods as any where it does not say", () => {
  const { capacity, allocatable } = forgeFacts(inputsOf());
  assert.deepEqual(capacity, { pods: "110", cpu: "4", memory: "8Gi" });
  assert.deepEqual(allocatable, capacity);
  const contract = contractOf({}, { cpu: "1500m", pods: 7, "nvidia.com/gpu": 2 });
  assert.deepEqual(forgeFacts(inputsOf({ contract })).capacity, { pods: "7", cpu: "1500m", "nvidia.com/gpu": "2" });
});

test("what the provider no longer wants to give can no longer be used", () => {
  const contract = contractOf({ peerLimit: { cpu: 1, "nvidia.com/gpu": 9 } });
  const { capacity, allocatable } = forgeFacts(inputsOf({ contract }));
  assert.equal(capacity.cpu, "4");
  assert.deepEqual(allocatable, { pods: "110", cpu: "1", memory: "8Gi" });
});

test("a resource that the contract of today does not name is there no more", () => {
  const { capacity, allocatable } = forgeFacts(inputsOf({ knownResources: ["cpu", "nvidia.com/gpu"] }));
  assert.equal(capacity["nvidia.com/gpu"], "0");
  assert.equal(allocatable["nvidia.com/gpu"], "0");
  assert.equal(capacity.cpu, "4");
});

test("a node without a contract has no amounts but the ordinary number of pods", () => {
  assert.deepEqual(forgeFacts(inputsOf({ contract: undefined })).capacity, { pods: "110" });
});

test("the kubelet API is where the agent is", () => {
  const { addresses, kubeletPort } = forgeFacts(inputsOf());
  assert.deepEqual(addresses, [
    { type: "InternalIP", address: "10.1.2.3" },
    { type: "Hostname", address: "lively-wave" },
  ]);
  assert.equal(kubeletPort, 10_251);
});

test("kubectl shows what is behind the node", () => {
  const { nodeInfo } = forgeFacts(inputsOf());
  assert.equal(nodeInfo.architecture, "arm64");
  assert.equal(nodeInfo.machineID, PROVIDER);
  assert.equal(nodeInfo.osImage, "Fjord site Lively Wave");
  assert.equal(nodeInfo.kubeletVersion, "v1.36.0+fjord.0.1.0");
  assert.equal(forgeFacts(inputsOf({ published: undefined })).nodeInfo.osImage, `Fjord site ${PROVIDER}`);
});

test("a node that is well has the conditions that schedulers look for", () => {
  const facts = forgeFacts(inputsOf());
  assert.equal(conditionOf(facts, "Ready")?.status, "True");
  assert.equal(conditionOf(facts, "Ready")?.reason, "KubeletReady");
  for (const type of ["MemoryPressure", "DiskPressure", "PIDPressure"])
    assert.equal(conditionOf(facts, type)?.status, "False", type);
});

test("nothing is known of a node whose provider is lost, in the words of the loss", () => {
  const readiness = { status: "Unknown", reason: "ProviderUnreachable", message: "silent since noon" } as const;
  for (const { status, reason, message } of forgeFacts(inputsOf({ readiness })).conditions)
    assert.deepEqual({ status, reason, message }, readiness);
});

test("a node whose contract is over is not ready, but under no pressure", () => {
  const readiness = { status: "False", reason: "ContractNotActive", message: "it has ended" } as const;
  const facts = forgeFacts(inputsOf({ readiness }));
  assert.deepEqual(conditionOf(facts, "Ready"), { type: "Ready", ...readiness });
  assert.equal(conditionOf(facts, "DiskPressure")?.status, "False");
});

test("each virtual node has its taint, once, and those of its owner", () => {
  const own = { key: "fjord.dev/virtual-node", value: "true", effect: "NoSchedule" };
  assert.deepEqual(forgeTaints(virtualNodeOf()), [own]);
  const taints = [
    { key: "fjord.dev/virtual-node", value: "false", effect: "NoSchedule" },
    { key: "example.com/metered", effect: "NoExecute" },
  ];
  assert.deepEqual(forgeTaints(virtualNodeOf({ taints })), [own, taints[1]]);
});

test("a new node notes which labels are not its owner's", () => {
  const { labels, annotations, providerID } = forgeIdentity(inputsOf());
  assert.deepEqual(annotations?.["fjord.dev/labels"]?.split(","), Object.keys(labels).sort());
  assert.equal(providerID, `fjord://${PROVIDER}/lively-wave`);
});
