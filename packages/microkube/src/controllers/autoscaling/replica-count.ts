import type { Pod } from "@fjord/kube";
import { isPodFinished, isPodTerminating, podCondition, timeOf } from "../workload/pod-state.ts";

const TOLERANCE = 0.1;
const INITIALIZATION_MS = 5 * 60_000;
const READINESS_MS = 30_000;

/** What one pod uses, in thousandths of the unit. */
export interface PodUsage {
  readonly usage: number;
  readonly at: number;
  readonly windowMs: number;
}

export interface Target {
  /** Percent of what pods ask for, or an amount for each pod in thousandths. */
  readonly utilization?: number;
  readonly average?: number;
}

export interface Outcome {
  readonly replicas: number;
  /** Percent of the requests, where that is the target. */
  readonly utilization?: number;
  /** Of each pod, in thousandths. */
  readonly average: number;
}

export interface Question {
  readonly pods: readonly Pod[];
  readonly usages: ReadonlyMap<string, PodUsage>;
  /** What a pod asks for, in thousandths; undefined where it does not say. */
  readonly requestOf: (pod: Pod) => number | undefined;
  readonly target: Target;
  readonly current: number;
  /** The resource is processor time, which pods use most of while they start. */
  readonly isProcessor: boolean;
  readonly now: number;
}

/** How many replicas bring usage to its target; throws with the reason where nobody can tell. */
export function wantedCount(question: Question): Outcome {
  const { pods, usages, current, target } = question;
  const usage = new Map<string, number>();
  const missing: Pod[] = [];
  const unready: Pod[] = [];
  for (const pod of pods) {
    if (isPodTerminating(pod) || pod.status?.phase === "Failed" || isPodFinished(pod)) continue;
    const known = usages.get(pod.metadata.name ?? "");
    if (pod.status?.phase === "Pending" || (known && isStarting(question, pod, known))) unready.push(pod);
    else if (known === undefined) missing.push(pod);
    else usage.set(pod.metadata.name ?? "", known.usage);
  }
  if (usage.size === 0) throw new Error("did not receive metrics for targeted pods (pods might be unready)");
  const ready = usage.size;
  const requests = requestsOf(question);
  const first = ratioOf(usage, requests, target);
  const growsWithUnready = unready.length > 0 && first.ratio > 1;
  if (!growsWithUnready && missing.length === 0) {
    const isNear = Math.abs(1 - first.ratio) <= TOLERANCE;
    return { ...first.reading, replicas: isNear ? current : Math.ceil(first.ratio * ready) };
  }
  // Of those nobody knows the usage of, the worst is assumed for the way the count would go.
  for (const { metadata } of missing) {
    const name = metadata.name ?? "";
    const whole = target.average ?? ((requests.get(name) ?? 0) * Math.max(100, target.utilization ?? 100)) / 100;
    if (first.ratio < 1) usage.set(name, whole);
    else if (first.ratio > 1) usage.set(name, 0);
  }
  if (growsWithUnready) for (const { metadata } of unready) usage.set(metadata.name ?? "", 0);
  const { ratio } = ratioOf(usage, requests, target);
  const turned = (first.ratio < 1 && ratio > 1) || (first.ratio > 1 && ratio < 1);
  const replicas = Math.ceil(ratio * usage.size);
  const isOdd = (ratio < 1 && replicas > current) || (ratio > 1 && replicas < current);
  const stays = Math.abs(1 - ratio) <= TOLERANCE || turned || isOdd;
  return { ...first.reading, replicas: stays ? current : replicas };
}

function requestsOf({ pods, requestOf, target }: Question): Map<string, number> {
  const requests = new Map<string, number>();
  if (target.utilization === undefined) return requests;
  for (const pod of pods) {
    const request = requestOf(pod);
    if (request === undefined) throw new Error(`missing request for the resource in pod ${pod.metadata.name}`);
    requests.set(pod.metadata.name ?? "", request);
  }
  return requests;
}

function ratioOf(usage: ReadonlyMap<string, number>, requests: ReadonlyMap<string, number>, target: Target) {
  let used = 0;
  let asked = 0;
  for (const [name, amount] of usage) {
    used += amount;
    asked += requests.get(name) ?? 0;
  }
  const average = Math.floor(used / usage.size);
  if (target.utilization === undefined) {
    return { ratio: used / usage.size / (target.average ?? 1), reading: { average } };
  }
  if (asked === 0) throw new Error("no metrics returned matched known pods");
  const utilization = Math.floor((used * 100) / asked);
  return { ratio: utilization / target.utilization, reading: { average, utilization } };
}

function isStarting({ isProcessor, now }: Question, pod: Pod, { at, windowMs }: PodUsage): boolean {
  if (!isProcessor) return false;
  const ready = podCondition(pod, "Ready");
  const started = timeOf(pod.status?.startTime);
  if (ready === undefined || started === undefined) return true;
  const changed = timeOf(ready.lastTransitionTime) ?? started;
  if (started + INITIALIZATION_MS > now) return ready.status === "False" || at < changed + windowMs;
  return ready.status === "False" && started + READINESS_MS > changed;
}
