import type { Pod } from "@fjord/kube";
import type { PodEnd } from "../plan/plan-input.ts";
import { isTerminal } from "../pod-containers.ts";

/** Whether a pod has to end by what the API says of it, and since when; an earlier reason stays. */
export function endOf(pod: Pod, isGone: boolean, now: number, before: PodEnd | undefined): PodEnd | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const ownGrace = pod.spec?.terminationGracePeriodSeconds ?? 30;
  const since = before?.since ?? now;
  const words = before?.reason === undefined ? {} : { reason: before.reason, message: before.message ?? "" };
  if (isGone || deletionTimestamp !== undefined) {
    const wanted = deletionTimestamp === undefined ? ownGrace : (deletionGracePeriodSeconds ?? ownGrace);
    const cause = before?.reason === undefined ? (isGone ? "gone" : "deleted") : before.cause;
    // Nobody gets more time by being deleted while it ends already; who gets less has it from now on.
    if (before === undefined || wanted < before.graceSeconds) {
      return { cause, since: now, graceSeconds: wanted, ...words };
    }
    return { ...before, cause };
  }
  if (before !== undefined) return before;
  const deadline = deadlineOf(pod);
  if (deadline !== undefined && deadline <= now) {
    const message = "Pod was active on the node longer than the specified deadline";
    return { cause: "deadline", since, graceSeconds: ownGrace, reason: "DeadlineExceeded", message };
  }
  if (isTerminal(pod.status?.phase)) return { cause: "refused", since, graceSeconds: ownGrace };
  return undefined;
}

/** When the pod's time is over. */
export function deadlineOf(pod: Pod): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const start = Date.parse(pod.status?.startTime ?? "");
  return seconds === undefined || Number.isNaN(start) ? undefined : start + seconds * 1000;
}
