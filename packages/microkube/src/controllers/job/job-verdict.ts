import type { Job, Pod } from "@fjord/kube";
import { isPodActive, timeOf } from "../workload/pod-state.ts";
import { IndexSet } from "./index-set.ts";
import {
  failuresBefore,
  hasLimitPerIndex,
  indexOf,
  isFailed,
  isIndexed,
  isSucceeded,
  type JobCondition,
} from "./job-pod.ts";
import { failureOf, successOf } from "./policies.ts";

/** What a Job's pods amount to, those included that are counted already. */
export interface Tally {
  readonly active: readonly Pod[];
  readonly terminating: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly succeededIndexes: IndexSet;
  readonly failedIndexes: IndexSet;
}

/** Pods that have ended and that no count has yet. */
export interface Fresh {
  readonly succeeded: readonly Pod[];
  readonly failed: readonly Pod[];
}

/** `released`: pods that were counted and let go of, which the cache may not show yet. */
export function freshPods(job: Job, pods: readonly Pod[], released: ReadonlySet<string>): Fresh {
  const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
  const counted = new Set([...succeeded, ...failed]);
  const isFresh = ({ metadata }: Pod) => {
    const uid = metadata.uid ?? "";
    const isOurs = metadata.finalizers?.includes("batch.kubernetes.io/job-tracking");
    return isOurs === true && !counted.has(uid) && !released.has(uid);
  };
  return {
    succeeded: pods.filter((pod) => isSucceeded(pod) && isFresh(pod) && isOfJob(job, pod)),
    failed: pods.filter((pod) => isFailed(pod, job) && isFresh(pod)),
  };
}

/** Of an index beyond the number of completions nothing counts. */
function isOfJob(job: Job, pod: Pod): boolean {
  if (!isIndexed(job)) return true;
  const index = indexOf(pod);
  return index !== undefined && index < (job.spec?.completions ?? 0);
}

export function tally(job: Job, pods: readonly Pod[], fresh: Fresh): Tally {
  const { status = {}, spec } = job;
  const active = pods.filter(isPodActive);
  const terminating = pods.filter((pod) => isGoing(pod)).length;
  const uncounted = status.uncountedTerminatedPods ?? {};
  const succeededIndexes = isIndexed(job)
    ? IndexSet.parse(status.completedIndexes, spec?.completions).with(
        pods.filter((pod) => isSucceeded(pod) && isOfJob(job, pod)).map((pod) => indexOf(pod) ?? 0),
      )
    : new IndexSet();
  const failedIndexes = hasLimitPerIndex(job)
    ? IndexSet.parse(status.failedIndexes, spec?.completions).with(
        pods.filter((pod) => isIndexOver(job, pod)).map((pod) => indexOf(pod) ?? 0),
      )
    : new IndexSet();
  const counting = fresh.failed.filter((pod) => failureOf(spec?.podFailurePolicy, pod).action !== "Ignore");
  return {
    active,
    terminating,
    succeeded: isIndexed(job)
      ? succeededIndexes.size
      : (status.succeeded ?? 0) + fresh.succeeded.length + (uncounted.succeeded?.length ?? 0),
    failed: (status.failed ?? 0) + counting.length + (uncounted.failed?.length ?? 0),
    succeededIndexes,
    failedIndexes,
  };
}

function isGoing({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

/** Whether a pod was its index's last try. */
function isIndexOver(job: Job, pod: Pod): boolean {
  if (!isFailed(pod, job) || !isOfJob(job, pod)) return false;
  const { action } = failureOf(job.spec?.podFailurePolicy, pod);
  if (action === "FailIndex") return true;
  return action !== "Ignore" && failuresBefore(pod).counted >= (job.spec?.backoffLimitPerIndex ?? 0);
}

/**
 * The condition by which a Job begins to end, for good or bad; undefined while it goes on. Pods may still be there: the
 * last word, `Complete` or `Failed`, is said when they are gone.
 */
export function verdictOf(job: Job, pods: readonly Pod[], count: Tally, now: number): JobCondition | undefined {
  const { spec, status } = job;
  const said = status?.conditions?.find(
    ({ type, status }) => (type === "FailureTarget" || type === "SuccessCriteriaMet") && status === "True",
  );
  if (said !== undefined) return said;
  const failJob = pods
    .filter((pod) => isFailed(pod, job))
    .map((pod) => failureOf(spec?.podFailurePolicy, pod))
    .find(({ action }) => action === "FailJob");
  if (failJob !== undefined) return failure("PodFailurePolicy", failJob.message ?? "");
  const limit = spec?.backoffLimit ?? (hasLimitPerIndex(job) ? Number.POSITIVE_INFINITY : 6);
  if (count.failed > limit || restartsBeyond(job, count.active, limit)) {
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  if (untilDeadline(job, now) === 0) {
    return failure("DeadlineExceeded", "Job was active longer than specified deadline");
  }
  if (hasLimitPerIndex(job)) {
    const most = spec?.maxFailedIndexes;
    if (most !== undefined && count.failedIndexes.size > most) {
      return failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
    }
    const ended = count.failedIndexes.size + count.succeededIndexes.size;
    if (count.failedIndexes.size > 0 && ended >= (spec?.completions ?? 0)) {
      return failure("FailedIndexes", "Job has failed indexes");
    }
  }
  const criteria = successOf(job, count.succeededIndexes);
  if (criteria !== undefined) return success("SuccessPolicy", criteria);
  return undefined;
}

/** For Jobs whose containers are started again in place. */
function restartsBeyond({ spec }: Job, active: readonly Pod[], limit: number): boolean {
  if (spec?.template.spec?.restartPolicy !== "OnFailure") return false;
  let restarts = 0;
  for (const { status } of active) {
    for (const { restartCount } of [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]) {
      restarts += restartCount;
    }
  }
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** Milliseconds until the Job has run for too long: 0 when it has, undefined where it may run for ever. */
export function untilDeadline({ spec, status }: Job, now: number): number | undefined {
  const started = timeOf(status?.startTime);
  if (spec?.activeDeadlineSeconds === undefined || started === undefined || spec.suspend) return undefined;
  return Math.max(0, started + spec.activeDeadlineSeconds * 1000 - now);
}

/** All that was asked for has succeeded. */
export function isComplete({ spec }: Job, { succeeded, active }: Tally): boolean {
  if (spec?.completions === undefined) return succeeded > 0 && active.length === 0;
  return succeeded >= spec.completions;
}

export function success(reason: string, message: string): JobCondition {
  return { type: "SuccessCriteriaMet", status: "True", reason, message };
}

function failure(reason: string, message: string): JobCondition {
  return { type: "FailureTarget", status: "True", reason, message };
}
