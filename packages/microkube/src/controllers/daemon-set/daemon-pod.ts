import { DaemonSet, type Node, type Pod, selectsNode } from "@fjord/kube";
import { isTolerated, type Toleration } from "../taint.ts";
import { forgePod } from "../workload/pod-forge.ts";

export const REVISION_HASH = "controller-revision-hash";
const GENERATION = "pod-template-generation";
const GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

/** Daemons stay where others have to go, and come where others may not. */
const ownTolerations: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];
const hostToleration: Toleration = {
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
};

function tolerationsOf({ spec }: DaemonSet): Toleration[] {
  const given = spec?.template.spec?.tolerations ?? [];
  const own = spec?.template.spec?.hostNetwork ? [...ownTolerations, hostToleration] : ownTolerations;
  const isGiven = ({ key, effect }: Toleration) =>
    given.some(
      (toleration) =>
        toleration.key === key &&
        toleration.effect === effect &&
        toleration.operator === "Exists" &&
        toleration.tolerationSeconds === undefined,
    );
  return [...given, ...own.filter((toleration) => !isGiven(toleration))];
}

/** The pod for one node. The scheduler binds it: the node is asked for by its name. */
export function forgeDaemonPod(set: DaemonSet, node: string, hash: string): Pod {
  const template = set.spec?.template ?? {};
  const pod = forgePod(template, DaemonSet, set);
  const generation = set.metadata.annotations?.[GENERATION_ANNOTATION];
  const labels = {
    ...pod.metadata.labels,
    [REVISION_HASH]: hash,
    ...(generation !== undefined && { [GENERATION]: generation }),
  };
  const nodeSelectorTerms = [{ matchFields: [{ key: "metadata.name", operator: "In" as const, values: [node] }] }];
  const { affinity } = pod.spec ?? {};
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: {
      containers: [],
      ...pod.spec,
      affinity: {
        ...affinity,
        nodeAffinity: {
          ...affinity?.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
        },
      },
      tolerations: tolerationsOf(set),
    },
  };
}

/** The node that a pod is on, or was made for. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName;
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  for (const { matchFields = [] } of terms ?? []) {
    const field = matchFields.find(({ key, operator }) => key === "metadata.name" && operator === "In");
    if (field?.values?.length === 1) return field.values[0];
  }
  return undefined;
}

/** Whether a node should have a pod of the set, and whether one that is there may stay. */
export function fit(set: DaemonSet, node: Node): { runs: boolean; stays: boolean } {
  const { name = "", labels = {} } = node.metadata;
  const template = set.spec?.template.spec;
  if (template?.nodeName && template.nodeName !== name) return { runs: false, stays: false };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: {}, spec: template } as Pod;
  if (!selectsNode(pod, { name, labels })) return { runs: false, stays: false };
  const tolerations = tolerationsOf(set);
  const untolerated = (node.spec?.taints ?? []).filter((taint) => !isTolerated(taint, tolerations));
  const hard = untolerated.filter(({ effect }) => effect !== "PreferNoSchedule");
  return { runs: hard.length === 0, stays: !hard.some(({ effect }) => effect === "NoExecute") };
}
