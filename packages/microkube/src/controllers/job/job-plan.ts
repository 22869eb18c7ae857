import type { Job, Pod } from "@fjord/kube";
import { podsToDelete } from "../workload/pod-ranking.ts";
import { failuresBefore, finishedAt, hasLimitPerIndex, indexOf, isFailed, isIndexed } from "./job-pod.ts";
import type { Tally } from "./job-verdict.ts";
import { failureOf } from "./policies.ts";

const FIRST_DELAY_MS = 10_000;
const LONGEST_DELAY_MS = 600_000;
const MOST_AT_ONCE = 500;

export interface Creation {
  readonly index?: number;
  readonly failures?: { readonly counted: number; readonly ignored: number };
}

export interface JobPlan {
  readonly create: readonly Creation[];
  readonly delete: readonly Pod[];
  /** Milliseconds to wait before a pod that failed is tried again. */
  readonly waitMs?: number;
}

/** How often a Job has failed since it last succeeded, and when. */
export interface Setbacks {
  readonly failures: number;
  readonly last: number;
}

export function retryDelay({ failures, last }: Setbacks, now: number): number {
  if (failures === 0) return 0;
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20));
  return Math.max(0, last + delay - now);
}

/** The setbacks after these pods have ended too. */
export function setbacks(
  before: Setbacks | undefined,
  fresh: { succeeded: readonly Pod[]; failed: readonly Pod[] },
): Setbacks | undefined {
  const failed = fresh.failed.map(finishedAt).sort((a, b) => a - b);
  const succeeded = fresh.succeeded.map(finishedAt);
  if (succeeded.length === 0) {
    if (failed.length === 0) return before;
    return { failures: (before?.failures ?? 0) + failed.length, last: failed.at(-1) ?? 0 };
  }
  const since = failed.filter((time) => time > Math.max(...succeeded));
  return since.length === 0 ? undefined : { failures: since.length, last: since.at(-1) ?? 0 };
}

/** Which pods a Job that goes on needs, and which it has too many of. Not both at once. */
export function planJob(
  job: Job,
  pods: readonly Pod[],
  count: Tally,
  before: Setbacks | undefined,
  now: number,
): JobPlan {
  const { spec } = job;
  const { active } = count;
  if (spec?.suspend) return { create: [], delete: active };
  const parallelism = spec?.parallelism ?? 1;
  const wanted =
    spec?.completions === undefined
      ? count.succeeded > 0
        ? active.length
        : parallelism
      : Math.max(0, Math.min(parallelism, spec.completions - count.succeeded));
  const surplus = removals(job, active, count, Math.max(0, active.length - wanted), now);
  if (surplus.length > 0) return { create: [], delete: surplus.slice(0, MOST_AT_ONCE) };
  const onlyFailed = spec?.podReplacementPolicy === "Failed" || spec?.podFailurePolicy !== undefined;
  const missing = Math.min(MOST_AT_ONCE, wanted - active.length - (onlyFailed ? count.terminating : 0));
  if (missing <= 0) return { create: [], delete: [] };
  if (!hasLimitPerIndex(job)) {
    const waitMs = before === undefined ? 0 : retryDelay(before, now);
    if (waitMs > 0) return { create: [], delete: [], waitMs };
    if (!isIndexed(job)) return { create: Array.from({ length: missing }, () => ({})), delete: [] };
    const indexes = pendingIndexes(job, pods, count, missing, onlyFailed);
    return { create: indexes.map((index) => ({ index })), delete: [] };
  }
  return perIndex(job, pods, pendingIndexes(job, pods, count, missing, onlyFailed), now);
}

function pendingIndexes(job: Job, pods: readonly Pod[], count: Tally, most: number, onlyFailed: boolean): number[] {
  const taken = new Set(count.active.map(indexOf));
  if (onlyFailed) {
    for (const pod of pods) if (pod.metadata.deletionTimestamp && !isEnded(pod)) taken.add(indexOf(pod));
  }
  const found: number[] = [];
  for (let index = 0; index < (job.spec?.completions ?? 0) && found.length < most; index++) {
    const isOver = count.succeededIndexes.has(index) || count.failedIndexes.has(index);
    if (!isOver && !taken.has(index)) found.push(index);
  }
  return found;
}

function isEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** Each index waits for its own failures. */
function perIndex(job: Job, pods: readonly Pod[], indexes: readonly number[], now: number): JobPlan {
  const last = lastFailures(job, pods);
  const create: Creation[] = [];
  let waitMs: number | undefined;
  for (const index of indexes) {
    const failed = last.get(index);
    if (failed === undefined) {
      create.push({ index, failures: { counted: 0, ignored: 0 } });
      continue;
    }
    const { counted, ignored } = failuresBefore(failed);
    const delay = retryDelay({ failures: counted + ignored + 1, last: finishedAt(failed) }, now);
    const isIgnored = failureOf(job.spec?.podFailurePolicy, failed).action === "Ignore";
    if (delay > 0) waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, delay);
    else {
      create.push({
        index,
        failures: isIgnored ? { counted, ignored: ignored + 1 } : { counted: counted + 1, ignored },
      });
    }
  }
  return { create, delete: [], ...(create.length === 0 && waitMs !== undefined && { waitMs }) };
}

/** The last pod of each index that has failed: it holds the index's count until the next one is there. */
export function lastFailures(job: Job, pods: readonly Pod[]): Map<number, Pod> {
  const last = new Map<number, Pod>();
  for (const pod of pods) {
    const index = indexOf(pod);
    if (index === undefined || !isFailed(pod, job)) continue;
    const other = last.get(index);
    if (other === undefined || attempts(pod) > attempts(other)) last.set(index, pod);
  }
  return last;
}

function attempts(pod: Pod): number {
  const { counted, ignored } = failuresBefore(pod);
  return counted + ignored;
}

/** Pods of indexes that nobody asks for, or that there are two of, and as many more as have to go. */
function removals(job: Job, active: readonly Pod[], count: Tally, least: number, now: number): Pod[] {
  if (!isIndexed(job)) return least === 0 ? [] : podsToDelete(active, least, active, now);
  const remove: Pod[] = [];
  const kept: Pod[] = [];
  const seen = new Set<number>();
  for (const pod of podsToDelete(active, active.length, active, now).toReversed()) {
    const index = indexOf(pod);
    const isWanted =
      index !== undefined &&
      index < (job.spec?.completions ?? 0) &&
      !seen.has(index) &&
      !count.succeededIndexes.has(index) &&
      !count.failedIndexes.has(index);
    if (index !== undefined) seen.add(index);
    (isWanted ? kept : remove).push(pod);
  }
  const more = Math.max(0, least - remove.length);
  return [...remove, ...(more === 0 ? [] : podsToDelete(kept, more, kept, now))];
}
