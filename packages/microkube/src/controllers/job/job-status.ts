import type { Job } from "@fjord/kube";
import { isPodReady, timestamp } from "../workload/pod-state.ts";
import { hasLimitPerIndex, isIndexed, type JobCondition, type JobStatus } from "./job-pod.ts";
import type { Tally } from "./job-verdict.ts";

export function isFinished({ status }: Job): boolean {
  return status?.conditions?.some(({ type, status }) => isLast(type) && status === "True") ?? false;
}

function isLast(type: string): boolean {
  return type === "Complete" || type === "Failed";
}

/** The counts of what there is now; `removed` pods are on their way out. */
export function countedStatus(job: Job, count: Tally, change: { created: number; removed: number }): JobStatus {
  const { status = {} } = job;
  const ready = Math.max(0, count.active.filter(isPodReady).length - change.removed);
  return {
    ...status,
    active: Math.max(0, count.active.length + change.created - change.removed) || undefined,
    ready,
    terminating: count.terminating + change.removed,
    // Which indexes are done is known without their pods, so that nothing needs to be noted of those.
    ...(isIndexed(job) && {
      completedIndexes: count.succeededIndexes.toString() || undefined,
      succeeded: count.succeededIndexes.size || undefined,
    }),
    ...(hasLimitPerIndex(job) && { failedIndexes: count.failedIndexes.toString() }),
    uncountedTerminatedPods: status.uncountedTerminatedPods ?? {},
  };
}

/** With a condition of that type as given; the same where it says the same already. */
export function withCondition(status: JobStatus, wanted: JobCondition, now: number): JobStatus {
  const conditions = status.conditions ?? [];
  const old = conditions.find(({ type }) => type === wanted.type);
  if (old?.status === wanted.status && old?.reason === wanted.reason && old?.message === wanted.message) return status;
  const condition = { ...wanted, lastProbeTime: timestamp(now), lastTransitionTime: timestamp(now) };
  const others = conditions.filter(({ type }) => type !== wanted.type);
  return { ...status, conditions: [...others, condition] };
}

/** Whether the Job has been stopped or goes on again, as a condition; undefined where nothing has changed. */
export function suspension({ spec, status }: Job): JobCondition | undefined {
  const said = status?.conditions?.find(({ type }) => type === "Suspended");
  if (spec?.suspend) {
    if (said?.status === "True") return undefined;
    return { type: "Suspended", status: "True", reason: "JobSuspended", message: "Job suspended" };
  }
  if (said?.status !== "True") return undefined;
  return { type: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed" };
}

/** The last word, that follows from the one by which the Job began to end. */
export function lastCondition({ type, reason, message }: JobCondition): JobCondition {
  return { type: type === "FailureTarget" ? "Failed" : "Complete", status: "True", reason, message };
}
