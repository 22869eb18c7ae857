import type { Pod } from "@fjord/kube";
import { isPodActive, isPodReady, readySince, timeOf } from "./pod-state.ts";

const COST = "controller.kubernetes.io/pod-deletion-cost";
const PHASES: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

interface Ranked {
  readonly pod: Pod;
  readonly ready: boolean;
  readonly readySince: number | undefined;
  readonly created: number | undefined;
  readonly cost: number;
  /** Active pods of the same workload on the same node. */
  readonly neighbours: number;
  readonly restarts: readonly [number, number];
}

/**
 * Which pods to delete first: those that lose least. The order is Kubernetes': unassigned, earlier phase, not ready,
 * cheap, crowded, lately ready, often restarted, young; times count by orders of magnitude, and within one by uid.
 */
export function podsToDelete(pods: readonly Pod[], count: number, related: readonly Pod[], now: number): Pod[] {
  if (count >= pods.length) return [...pods];
  const onNode = new Map<string, number>();
  for (const pod of related) {
    const node = pod.spec?.nodeName ?? "";
    if (isPodActive(pod)) onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  const ranked = pods.map((pod) => rank(pod, onNode.get(pod.spec?.nodeName ?? "") ?? 0));
  ranked.sort((a, b) => compare(a, b, now));
  return ranked.slice(0, count).map(({ pod }) => pod);
}

function rank(pod: Pod, neighbours: number): Ranked {
  return {
    pod,
    ready: isPodReady(pod),
    readySince: readySince(pod),
    created: timeOf(pod.metadata.creationTimestamp),
    cost: deletionCost(pod),
    neighbours,
    restarts: restartsOf(pod),
  };
}

function compare(a: Ranked, b: Ranked, now: number): number {
  const unassigned = Number(isAssigned(a)) - Number(isAssigned(b));
  if (unassigned !== 0) return unassigned;
  const phase = phaseOf(a) - phaseOf(b);
  if (phase !== 0) return phase;
  if (a.ready !== b.ready) return a.ready ? 1 : -1;
  if (a.cost !== b.cost) return a.cost - b.cost;
  if (a.neighbours !== b.neighbours) return b.neighbours - a.neighbours;
  if (a.ready && a.readySince !== b.readySince) return byAge(a, b, a.readySince, b.readySince, now);
  for (const i of [0, 1] as const) if (a.restarts[i] !== b.restarts[i]) return b.restarts[i] - a.restarts[i];
  if (a.created !== b.created) return byAge(a, b, a.created, b.created, now);
  return 0;
}

function byAge(a: Ranked, b: Ranked, from: number | undefined, to: number | undefined, now: number): number {
  if (from === undefined || to === undefined) return from === undefined ? -1 : 1;
  const difference = magnitude(now - from) - magnitude(now - to);
  if (difference !== 0) return difference;
  return (a.pod.metadata.uid ?? "") < (b.pod.metadata.uid ?? "") ? -1 : 1;
}

/** Of an age in nanoseconds, as Kubernetes takes it. */
function magnitude(ms: number): number {
  return ms > 0 ? Math.floor(Math.log2(ms * 1e6)) : -1;
}

function isAssigned({ pod }: Ranked): boolean {
  return (pod.spec?.nodeName ?? "") !== "";
}

function phaseOf({ pod }: Ranked): number {
  return PHASES[pod.status?.phase ?? ""] ?? 0;
}

function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.[COST];
  if (text === undefined || !/^(0|-?[1-9]\d*)$/.test(text)) return 0;
  const cost = Number(text);
  return Math.abs(cost) <= 2 ** 31 ? cost : 0;
}

/** The most of any container, and of any sidecar. */
function restartsOf({ spec, status }: Pod): [number, number] {
  const sidecars = new Set(
    spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === "Always").map(({ name }) => name),
  );
  const most = (counts: number[]) => counts.reduce((a, b) => Math.max(a, b), 0);
  return [
    most((status?.containerStatuses ?? []).map(({ restartCount }) => restartCount)),
    most(
      (status?.initContainerStatuses ?? [])
        .filter(({ name }) => sidecars.has(name))
        .map(({ restartCount }) => restartCount),
    ),
  ];
}
