import type { Job, Pod } from "@fjord/kube";
import { IndexSet } from "./index-set.ts";
import type { JobSpec } from "./job-pod.ts";

type FailurePolicy = NonNullable<JobSpec["podFailurePolicy"]>;
type ExitCodes = NonNullable<FailurePolicy["rules"][number]["onExitCodes"]>;

/** What a failed pod means to its Job. */
export interface Failure {
  readonly action: "FailJob" | "FailIndex" | "Ignore" | "Count";
  /** Why the Job fails, where it does. */
  readonly message?: string;
}

/** By the first rule that matches; without one, the failure counts. */
export function failureOf(policy: FailurePolicy | undefined, pod: Pod): Failure {
  for (const [index, { action, onExitCodes, onPodConditions }] of (policy?.rules ?? []).entries()) {
    const { namespace, name } = pod.metadata;
    if (onExitCodes) {
      const container = exitedContainer(pod, onExitCodes);
      if (container === undefined) continue;
      const what = `Container ${container.name} for pod ${namespace}/${name} failed with exit code ${container.code}`;
      return { action: action as Failure["action"], message: `${what} matching ${action} rule at index ${index}` };
    }
    const condition = pod.status?.conditions?.find(({ type, status }) =>
      onPodConditions?.some((pattern) => pattern.type === type && (pattern.status ?? "True") === status),
    );
    if (condition === undefined) continue;
    const message = `Pod ${namespace}/${name} has condition ${condition.type} matching ${action} rule at index ${index}`;
    return { action: action as Failure["action"], message };
  }
  return { action: "Count" };
}

function exitedContainer({ status }: Pod, { containerName, operator, values }: ExitCodes) {
  for (const { name, state } of [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]) {
    const code = state?.terminated?.exitCode;
    if (code === undefined || code === 0 || (containerName && containerName !== name)) continue;
    if (values.includes(code) === (operator === "In")) return { name, code };
  }
  return undefined;
}

/** Why a Job counts as successful before all its indexes are; undefined where it does not yet. */
export function successOf({ spec }: Job, succeeded: IndexSet): string | undefined {
  if (succeeded.size === 0) return undefined;
  for (const [index, { succeededIndexes, succeededCount }] of (spec?.successPolicy?.rules ?? []).entries()) {
    const message = `Matched rules at index ${index}`;
    if (succeededIndexes === undefined) {
      if (succeededCount !== undefined && succeeded.size >= succeededCount) return message;
      continue;
    }
    const required = IndexSet.parse(succeededIndexes, spec?.completions);
    if (required.size === 0) continue;
    const common = succeeded.common(required);
    if (common === required.size || (succeededCount !== undefined && common >= succeededCount)) return message;
  }
  return undefined;
}
