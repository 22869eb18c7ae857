import type { Pod } from "@fjord/kube";

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
