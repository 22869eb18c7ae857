import type { Pod } from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";

/** Ways to fail that are the node's or the cluster's doing, not the pod's. */
const lossReasons = [
  "Evicted",
  "NodeAffinity",
  "NodeLost",
  "NodeShutdown",
  "Preempted",
  "Preempting",
  "Shutdown",
  "Terminated",
  "UnexpectedAdmissionError",
];

/** Whether a pod has failed without having had its chance: evicted, or refused by or lost with its node. */
export function isLost({ status }: Pod): boolean {
  if (status?.phase !== "Failed") return false;
  const { reason = "", conditions = [] } = status;
  const isDisrupted = conditions.some(
    (condition) => condition.type === "DisruptionTarget" && condition.status === "True",
  );
  return isDisrupted || lossReasons.includes(reason) || reason.startsWith("OutOf");
}

/**
 * Whether a pod has ended because somebody deleted it, which its node tells as its end before it is gone: failed, or succeeded where it ended politely. One that may succeed by
 * itself and says so is taken at its word.
 */
export function isTakenAway({ metadata, spec, status }: Pod): boolean {
  if (metadata.deletionTimestamp === undefined || !isTerminal(status?.phase)) return false;
  return status?.phase === "Failed" || (spec?.restartPolicy ?? "Always") === "Always";
}
