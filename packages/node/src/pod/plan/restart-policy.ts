import type { Pod } from "@fjord/kube";
import type { PodContainer } from "../pod-containers.ts";

/** Whether a container that ended with the exit code is to be started again. */
export function restartsAfter(pod: Pod, container: PodContainer, exitCode: number): boolean {
  if (container.role === "ephemeral") return false;
  const { restartPolicy } = container.spec;
  if (container.role === "sidecar") return true;
  const rule = ruleFor(container, exitCode);
  if (rule !== undefined) return rule.action.startsWith("Restart");
  const policy = restartPolicy ?? pod.spec?.restartPolicy ?? "Always";
  // An init container that did its work is never needed again, whatever the pod's policy.
  if (container.role === "init") return policy !== "Never" && exitCode !== 0;
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

/** The first rule of the container's own that the exit code meets. */
export function ruleFor({ spec }: PodContainer, exitCode: number): { readonly action: string } | undefined {
  return spec.restartPolicyRules?.find(({ exitCodes }) => exitCodes !== undefined && matches(exitCodes, exitCode));
}

function matches(rule: { operator: string; values?: number[] }, exitCode: number): boolean {
  const listed = (rule.values ?? []).includes(exitCode);
  return rule.operator === "In" ? listed : rule.operator === "NotIn" && !listed;
}
