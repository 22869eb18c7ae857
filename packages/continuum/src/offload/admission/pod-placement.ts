import { type Offloading, VIRTUAL_NODE } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { durationMs } from "../../duration.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Toleration = NonNullable<PodSpec["tolerations"]>[number];
type NodeSelectorTerm = NonNullable<
  NonNullable<
    NonNullable<NonNullable<PodSpec["affinity"]>["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
  >["nodeSelectorTerms"]
>[number];
type Expression = NonNullable<NodeSelectorTerm["matchExpressions"]>[number];

/** What of a pod's spec decides where it may land. */
export type Placement = Pick<PodSpec, "tolerations" | "affinity">;

/**
 * What an Offloading makes of a new pod's placement; undefined where nothing is to be changed. Whatever the pod's owner
 * asked for still holds: this only lets it onto virtual nodes, or keeps it there.
 */
export function placementOf(pod: Pod, spec: Offloading["spec"]): Placement | undefined {
  const { pods, sites } = spec;
  if (pods === "Local" || isDaemon(pod) || pod.spec?.nodeName) return undefined;
  const before = pod.spec ?? { containers: [] };
  const tolerations = [...(before.tolerations ?? []), ...missing(before.tolerations ?? [], wantedTolerations(spec))];
  const chosen = selectorExpressions(sites);
  const remote: Expression[] = [{ key: VIRTUAL_NODE, operator: "Exists" }, ...chosen];
  // Without a selector every node will do, and terms that say nothing would only cost the scheduler.
  if (pods === "Both" && chosen.length === 0) return { ...kept(before), tolerations };
  const alternatives: Expression[][] =
    pods === "Remote" ? [remote] : [[{ key: VIRTUAL_NODE, operator: "DoesNotExist" }], remote];
  return { affinity: withAlternatives(before.affinity, alternatives), tolerations };
}

function kept({ affinity }: PodSpec): Pick<Placement, "affinity"> {
  return affinity === undefined ? {} : { affinity };
}

/** DaemonSets have a pod for each node by their own rules. */
function isDaemon({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ kind, controller }) => kind === "DaemonSet" && controller === true) ?? false;
}

function wantedTolerations({ whenUnreachable }: Offloading["spec"]): Toleration[] {
  const virtual: Toleration = { key: VIRTUAL_NODE, operator: "Exists", effect: "NoSchedule" };
  const { action, after } = whenUnreachable;
  // Kubernetes itself gives every pod five minutes.
  if (action === "Evict" && after === undefined) return [virtual];
  const seconds = after === undefined ? {} : { tolerationSeconds: Math.ceil(durationMs(after) / 1000) };
  const away = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
  return [virtual, ...away.map((key): Toleration => ({ key, operator: "Exists", effect: "NoExecute", ...seconds }))];
}

/** Those whose key and effect the pod's owner has not spoken about. */
function missing(present: readonly Toleration[], wanted: readonly Toleration[]): Toleration[] {
  return wanted.filter(({ key, effect }) => !present.some((each) => each.key === key && each.effect === effect));
}

function selectorExpressions({ matchLabels = {}, matchExpressions = [] }: Offloading["spec"]["sites"]): Expression[] {
  return [
    ...Object.entries(matchLabels).map(([key, value]): Expression => ({ key, operator: "In", values: [value] })),
    ...matchExpressions.map(
      ({ key, operator, values }): Expression => ({
        key,
        operator,
        ...(values !== undefined && { values: [...values] }),
      }),
    ),
  ];
}

/** Each term that the pod's owner gave, in each of the alternatives: terms are ORed, what is in one is ANDed. */
function withAlternatives(affinity: PodSpec["affinity"], alternatives: readonly Expression[][]): PodSpec["affinity"] {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms: readonly NodeSelectorTerm[] = required?.nodeSelectorTerms ?? [{}];
  const nodeSelectorTerms = terms.flatMap((term) =>
    alternatives.map((expressions) => ({
      ...term,
      matchExpressions: [...(term.matchExpressions ?? []), ...expressions],
    })),
  );
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    },
  };
}
