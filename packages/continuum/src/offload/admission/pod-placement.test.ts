import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Offloading, VIRTUAL_NODE } from "@fjord/api";
import type { Node, Pod } from "@fjord/kube";
import { matchesSelector } from "@fjord/kube";
import fc from "fast-check";
import { placementOf } from "./pod-placement.ts";
import { affinityHolds, mayLand } from "./test-scheduling.ts";
import type { Toleration } from "./tolerations.ts";

type Spec = Offloading["spec"];
type PodSpec = NonNullable<Pod["spec"]>;

function spec(given: Partial<Spec> = {}): Spec {
  return newObject(Offloading, { metadata: { name: "offloading", namespace: "shop" }, spec: given }).spec;
}

function pod(given: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}): Pod {
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], ...given } };
}

const taint = { key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" } as const;
const node = (name: string, labels: Record<string, string>, isVirtual: boolean): Node =>
  ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { ...labels, ...(isVirtual && { [VIRTUAL_NODE]: "true" }) } },
    spec: isVirtual ? { taints: [taint] } : {},
  }) as Node;

const placed = (before: Pod, given: Spec): Pod => ({
  ...before,
  spec: { ...(before.spec as PodSpec), ...placementOf(before, given) },
});

const keys = ["tier", "zone", VIRTUAL_NODE];
const label = fc.constantFrom("a", "b");
const expression = fc.oneof(
  fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom("In" as const, "NotIn" as const),
    values: fc.array(fc.constantFrom("a", "b", "true"), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ key: fc.constantFrom(...keys), operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const) }),
);
const field = fc.record({
  key: fc.constant("metadata.name"),
  operator: fc.constantFrom("In" as const, "NotIn" as const),
  values: fc.constantFrom(["n1"], ["n2"]),
});
const term = fc.record(
  { matchExpressions: fc.array(expression, { maxLength: 2 }), matchFields: fc.array(field, { maxLength: 1 }) },
  { requiredKeys: [] },
);
const affinity = fc.record({
  nodeAffinity: fc.record({
    requiredDuringSchedulingIgnoredDuringExecution: fc.record({
      nodeSelectorTerms: fc.array(term, { minLength: 1, maxLength: 3 }),
    }),
  }),
});
const toleration: fc.Arbitrary<Toleration> = fc.constantFrom<Toleration>(
  { operator: "Exists" },
  { operator: "Exists", effect: "NoSchedule" },
  { operator: "Exists", effect: "NoExecute" },
  { key: VIRTUAL_NODE, operator: "Exists" },
  { key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" },
  { key: VIRTUAL_NODE, value: "false" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 7 },
);
const anyPod = fc
  .record(
    {
      nodeSelector: fc.dictionary(fc.constantFrom("tier", "zone"), label, { maxKeys: 1 }),
      affinity,
      tolerations: fc.array(toleration, { maxLength: 3 }),
    },
    { requiredKeys: [] },
  )
  .map((given) => pod(given as Partial<PodSpec>));
const anyNode = fc
  .record({
    name: fc.constantFrom("n1", "n2"),
    labels: fc.record({ tier: label, zone: label }, { requiredKeys: [] }),
    isVirtual: fc.boolean(),
  })
  .map(({ name, labels, isVirtual }) => node(name, labels as Record<string, string>, isVirtual));
const anySpec = fc
  .record({
    pods: fc.constantFrom("Local" as const, "Remote" as const, "Both" as const),
    sites: fc.record(
      {
        matchLabels: fc.dictionary(fc.constantFrom("tier", "zone"), label, { maxKeys: 2 }),
        matchExpressions: fc.array(expression, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    whenUnreachable: fc.constantFrom(
      { action: "Evict" as const },
      { action: "Evict" as const, after: "30s" },
      { action: "Keep" as const },
    ),
  })
  .map((given) => spec(given as Partial<Spec>));
const isVirtual = ({ metadata }: Node) => metadata.labels?.[VIRTUAL_NODE] !== undefined;
const runs = { numRuns: 3_000 };

describe("the placement of a pod", () => {
  it("lets no pod where its owner did not want it", () => {
    fc.assert(
      fc.property(anyPod, anyNode, anySpec, (before, at, given) => {
        if (mayLand(placed(before, given), at)) assert.ok(affinityHolds(before, at));
      }),
      runs,
    );
  });

  it("keeps Local pods off virtual nodes, and leaves other nodes to them", () => {
    fc.assert(
      fc.property(anyPod, anyNode, anySpec, (before, at, given) => {
        const after = placed(before, { ...given, pods: "Local" });
        assert.equal(mayLand(after, at), isVirtual(at) ? false : mayLand(before, at));
      }),
      runs,
    );
  });

  it("sends Remote pods to selected virtual nodes that suit them, and nowhere else", () => {
    fc.assert(
      fc.property(anyPod, anyNode, anySpec, (before, at, given) => {
        const after = placed(before, { ...given, pods: "Remote" });
        const isSelected = isVirtual(at) && matchesSelector(given.sites, at.metadata.labels);
        assert.equal(mayLand(after, at), isSelected && affinityHolds(before, at));
      }),
      runs,
    );
  });

  it("lets Both have every node that suits them, of virtual ones only the selected", () => {
    fc.assert(
      fc.property(anyPod, anyNode, anySpec, (before, at, given) => {
        const after = placed(before, { ...given, pods: "Both" });
        const isEligible = isVirtual(at) ? matchesSelector(given.sites, at.metadata.labels) : mayLand(before, at);
        assert.equal(mayLand(after, at), isEligible && affinityHolds(before, at));
      }),
      runs,
    );
  });

  it("changes nothing when it is done again", () => {
    fc.assert(
      fc.property(anyPod, anySpec, (before, given) => {
        assert.equal(placementOf(placed(before, given), given), undefined);
      }),
      runs,
    );
  });

  it("leaves pods alone that have their node, and those of DaemonSets", () => {
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "u", controller: true };
    assert.equal(placementOf(pod({ nodeName: "n1" }), spec({ pods: "Remote" })), undefined);
    assert.equal(placementOf(pod({}, { ownerReferences: [owner] }), spec({ pods: "Remote" })), undefined);
  });
});

describe("what becomes of pods at a site that is away", () => {
  const seconds = (after: Pod) =>
    Object.fromEntries(
      (after.spec?.tolerations ?? [])
        .filter(({ effect }) => effect === "NoExecute")
        .map(({ key = "", tolerationSeconds }) => [key.split("/")[1], tolerationSeconds]),
    );
  // As the API server fills them in before it asks.
  const filled = ["not-ready", "unreachable"].map(
    (name): Toleration => ({
      key: `node.kubernetes.io/${name}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    }),
  );

  it("is Kubernetes' own rule unless the Offloading says otherwise", () => {
    assert.deepEqual(seconds(placed(pod({ tolerations: filled }), spec())), { "not-ready": 300, unreachable: 300 });
  });

  it("is what the Offloading says, whatever the API server has filled in", () => {
    const evict = spec({ whenUnreachable: { action: "Evict", after: "1500ms" } });
    assert.deepEqual(seconds(placed(pod({ tolerations: filled }), evict)), { "not-ready": 2, unreachable: 2 });
    assert.deepEqual(seconds(placed(pod(), evict)), { "not-ready": 2, unreachable: 2 });
    const keep = spec({ whenUnreachable: { action: "Keep" } });
    const kept = { "not-ready": undefined, unreachable: undefined };
    assert.deepEqual(seconds(placed(pod({ tolerations: filled }), keep)), kept);
  });

  it("is what the pod's owner says before all", () => {
    const own: Toleration[] = filled.map((each) => ({ ...each, tolerationSeconds: 10 }));
    const keep = spec({ whenUnreachable: { action: "Keep" } });
    assert.deepEqual(seconds(placed(pod({ tolerations: own }), keep)), { "not-ready": 10, unreachable: 10 });
  });
});
