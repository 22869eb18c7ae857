import { type Clock, systemClock } from "@fjord/base";
import type { Lease, Node } from "@fjord/kube";
import type { Taint } from "../taint.ts";
import { timestamp } from "../workload/pod-state.ts";

export type NodeCondition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

/** So long a node may be silent, and a new one before its first word. */
export const GRACE_MS = 50_000;
export const STARTUP_GRACE_MS = 60_000;

/** A moment, by the clock, and by time that nobody sets: for how long a node is silent is not for a clock to say that is put right. */
export interface Moment {
  readonly clock: number;
  readonly steady: number;
}

/** Steady time beside a clock; one of the caller's own is taken at its word. */
export function momentsOf(clock: Clock): () => Moment {
  if (clock === systemClock) return () => ({ clock: clock.now(), steady: performance.now() });
  return () => ({ clock: clock.now(), steady: clock.now() });
}

/** Last signs of life of a node, by the steady time of whoever saw them: clocks of nodes may go wrong. */
export interface Pulse {
  readonly heartbeat: string;
  readonly renewal: string;
  readonly seenAt: number;
}

/** The pulse after another look: time moves only when there was a new sign. */
export function feel(before: Pulse | undefined, node: Node, lease: Lease | undefined, now: Moment): Pulse {
  const heartbeat = readyCondition(node)?.lastHeartbeatTime ?? "";
  const renewal = lease?.spec?.renewTime ?? "";
  if (before === undefined) {
    // Nothing known: it gets its whole time from now on, or from its making if it never said a word.
    const age = now.clock - (Date.parse(node.metadata.creationTimestamp ?? "") || now.clock);
    return { heartbeat, renewal, seenAt: heartbeat === "" ? now.steady - age : now.steady };
  }
  const isAlive = heartbeat !== before.heartbeat || renewal !== before.renewal;
  return isAlive ? { heartbeat, renewal, seenAt: now.steady } : before;
}

/** Milliseconds until the node counts as silent; 0 when it does. */
export function untilSilent(node: Node, { seenAt }: Pulse, { steady }: Moment): number {
  const grace = readyCondition(node) === undefined ? STARTUP_GRACE_MS : GRACE_MS;
  return Math.max(0, seenAt + grace - steady);
}

export function readyCondition({ status }: Node): NodeCondition | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready");
}

const WATCHED = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** The conditions of a node that has fallen silent: nothing is known of it any more. */
export function silentConditions({ status, metadata }: Node, now: number): NodeCondition[] {
  const before = status?.conditions ?? [];
  const known = before.map((condition): NodeCondition => {
    if (!WATCHED.includes(condition.type) || condition.status === "Unknown") return condition;
    return {
      ...condition,
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastTransitionTime: timestamp(now),
    };
  });
  const missing = WATCHED.filter((type) => !before.some((condition) => condition.type === type));
  const never = missing.map((type) => ({
    type,
    status: "Unknown",
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
    lastHeartbeatTime: metadata.creationTimestamp,
    lastTransitionTime: timestamp(now),
  }));
  return [...known, ...never];
}

const byCondition: readonly [type: string, status: string, key: string][] = [
  ["Ready", "False", "node.kubernetes.io/not-ready"],
  ["Ready", "Unknown", "node.kubernetes.io/unreachable"],
  ["MemoryPressure", "True", "node.kubernetes.io/memory-pressure"],
  ["DiskPressure", "True", "node.kubernetes.io/disk-pressure"],
  ["NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"],
  ["PIDPressure", "True", "node.kubernetes.io/pid-pressure"],
];
const UNSCHEDULABLE = "node.kubernetes.io/unschedulable";
const ownKeys = new Set([...byCondition.map(([, , key]) => key), UNSCHEDULABLE]);
const executing = new Set(["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);

/**
 * The taints that a node should have for its conditions, beside others'; undefined where it has them. Without `evicts`
 * none of them drives pods away: where no node at all is ready, pods have nowhere to go.
 */
export function wantedTaints({ spec, status }: Node, evicts: boolean, now: number): Taint[] | undefined {
  const before = spec?.taints ?? [];
  const keys = byCondition
    .filter(([type, value]) => status?.conditions?.some((one) => one.type === type && one.status === value))
    .map(([, , key]) => key);
  if (spec?.unschedulable) keys.push(UNSCHEDULABLE);
  const wanted: Pick<Taint, "key" | "effect">[] = keys.flatMap((key) => [
    { key, effect: "NoSchedule" },
    ...(evicts && executing.has(key) ? [{ key, effect: "NoExecute" as const }] : []),
  ]);
  const isOwn = ({ key, effect }: Taint) =>
    ownKeys.has(key) && (effect === "NoSchedule" || (effect === "NoExecute" && executing.has(key)));
  const isSame = (a: Pick<Taint, "key" | "effect">, b: Pick<Taint, "key" | "effect">) =>
    a.key === b.key && a.effect === b.effect;
  const kept = before.filter((taint) => !isOwn(taint) || wanted.some((one) => isSame(one, taint)));
  const added = wanted.filter((one) => !before.some((taint) => isSame(one, taint)));
  if (kept.length === before.length && added.length === 0) return undefined;
  return [...kept, ...added.map((taint) => ({ ...taint, timeAdded: timestamp(now) }))];
}
