import type { Pod } from "@fjord/kube";
import type { PodContainer } from "../pod-containers.ts";

/** Whether a container that ended with the exit code is to be started again. */
export function restartsAfter(pod: Pod, container: PodContainer, exitCode: number): boolean {
  if (container.role === "ephemeral") return false;
  const { restartPolicy, restartPolicyRules = [] } = container.spec;
  if (container.role === "sidecar") return true;
  for (const { action, exitCodes } of restartPolicyRules) {
    if (exitCodes === undefined || !matches(exitCodes, exitCode)) continue;
    return action.startsWith("Restart");
  }
  const policy = restartPolicy ?? pod.spec?.restartPolicy ?? "Always";
  // An init container that did its work is never needed again, whatever the pod's policy.
  if (container.role === "init") return policy !== "Never" && exitCode !== 0;
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

function matches(rule: { operator: string; values?: number[] }, exitCode: number): boolean {
  const listed = (rule.values ?? []).includes(exitCode);
  return rule.operator === "In" ? listed : rule.operator === "NotIn" && !listed;
}
