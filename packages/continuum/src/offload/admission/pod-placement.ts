import { type Offloading, VIRTUAL_NODE } from "@fjord/api";
import { type Pod, sameContent } from "@fjord/kube";
import { durationMs } from "../../duration.ts";
import { type Expression, narrowed } from "./node-affinity.ts";
import { addressesVirtualNodes, type Toleration, toleratesVirtualNodes } from "./tolerations.ts";

type PodSpec = NonNullable<Pod["spec"]>;

/** What of a pod's spec decides where it may land. */
export type Placement = Pick<PodSpec, "tolerations" | "affinity">;

const IS_VIRTUAL: Expression = { key: VIRTUAL_NODE, operator: "Exists" };
const IS_REAL: Expression = { key: VIRTUAL_NODE, operator: "DoesNotExist" };
const AWAY = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
/** What an API server gives to pods that do not say, before any webhook sees them. */
const DEFAULT_SECONDS = 300;

/**
 * What an Offloading makes of a new pod's placement; undefined where nothing is to be changed. Whatever the pod's owner
 * asked for still holds: this only lets it onto virtual nodes, or keeps it there. Doing it twice changes nothing more.
 */
export function placementOf(pod: Pod, spec: Offloading["spec"]): Placement | undefined {
  if (isDaemonPod(pod) || pod.spec?.nodeName) return undefined;
  const before: Placement = { ...pick(pod.spec ?? {}) };
  const after = spec.pods === "Local" ? local(before) : outward(before, spec);
  return sameContent(before, after) ? undefined : after;
}

/** DaemonSets have a pod for each node by their own rules. */
export function isDaemonPod({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ kind, controller }) => kind === "DaemonSet" && controller === true) ?? false;
}

/** Whether somebody makes another pod where this one goes. */
export function isMade({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false;
}

function pick({ tolerations, affinity }: Placement): Placement {
  return { ...(tolerations && { tolerations }), ...(affinity && { affinity }) };
}

/** The taint of virtual nodes keeps all others away. */
function local(before: Placement): Placement {
  if (!toleratesVirtualNodes(before.tolerations ?? [])) return before;
  return { ...before, affinity: narrowed(before.affinity, [[IS_REAL]]) };
}

function outward(before: Placement, spec: Offloading["spec"]): Placement {
  const tolerations = withTolerations(before.tolerations ?? [], spec);
  const chosen = selectorExpressions(spec.sites);
  // Without a selector every node will do, and terms that say nothing would only cost the scheduler.
  if (spec.pods === "Both" && chosen.length === 0) return { ...before, tolerations };
  const there = [IS_VIRTUAL, ...chosen];
  return { affinity: narrowed(before.affinity, spec.pods === "Remote" ? [there] : [[IS_REAL], there]), tolerations };
}

function withTolerations(present: readonly Toleration[], { whenUnreachable }: Offloading["spec"]): Toleration[] {
  const { action, after } = whenUnreachable;
  const virtual: Toleration = { key: VIRTUAL_NODE, operator: "Exists", effect: "NoSchedule" };
  const added = addressesVirtualNodes(present) ? [] : [virtual];
  // Kubernetes itself gives every pod five minutes.
  if (action === "Evict" && after === undefined) return [...present, ...added];
  const seconds = after === undefined ? {} : { tolerationSeconds: Math.ceil(durationMs(after) / 1000) };
  const kept = present.filter((each) => !isDefault(each));
  const away = AWAY.filter((key) => !kept.some((each) => each.key === key && each.effect !== "NoSchedule"));
  const wanted = away.map((key): Toleration => ({ key, operator: "Exists", effect: "NoExecute", ...seconds }));
  return [...kept, ...added, ...wanted];
}

function isDefault({ key = "", operator, effect, tolerationSeconds }: Toleration): boolean {
  return AWAY.includes(key) && operator === "Exists" && effect === "NoExecute" && tolerationSeconds === DEFAULT_SECONDS;
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
