import type { IJobSpec } from "kubernetes-models/batch/v1/JobSpec";
import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { tooLong, tooMany } from "../object-meta.ts";
import { validatePodTemplate } from "../pod/pod-template.ts";
import { qualifiedName } from "../values/label.ts";
import { dnsSubdomain } from "../values/name.ts";
import { nonNegative } from "../values/number.ts";
import { countIndexes } from "./job-indexes.ts";

export type JobSpec = Draft<IJobSpec>;
const counted = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
] as const;
const most = 100_000;
const modes = ["NonIndexed", "Indexed"];

/** Of jobs and of what CronJobs make; the selector is looked at elsewhere. */
export function validateJobSpec(spec: JobSpec, path: string): FieldError[] {
  const errors = counted.flatMap((field) => nonNegative(spec[field], `${path}.${field}`));
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    errors.push(required(`${path}.backoffLimitPerIndex`, "when maxFailedIndexes is specified"));
  }
  if (spec.managedBy !== undefined) errors.push(...validateManager(spec.managedBy, `${path}.managedBy`));
  errors.push(...validateMode(spec, path), ...validateFailurePolicy(spec, `${path}.podFailurePolicy`));
  errors.push(...validateSuccessPolicy(spec, `${path}.successPolicy`), ...validateReplacement(spec, path));
  errors.push(...validatePodTemplate(spec.template ?? {}, `${path}.template`));
  return [...errors, ...validateRestartPolicy(spec, `${path}.template.spec.restartPolicy`)];
}

function validateManager(manager: string, path: string): FieldError[] {
  const [domain = "", ...rest] = manager.split("/");
  const file = rest.join("/");
  if (manager === "") return [required(path)];
  const errors: FieldError[] = [];
  if (domain === "" || file === "") {
    errors.push(invalidField(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  } else errors.push(...dnsSubdomain(domain).map((text) => invalidField(path, domain, text)));
  if (manager.length > 63) errors.push(tooLong(path, 63));
  return errors;
}

function validateMode(spec: JobSpec, path: string): FieldError[] {
  const { completionMode: mode, completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec;
  const errors: FieldError[] = [];
  if (mode !== undefined && !modes.includes(mode)) errors.push(notSupported(`${path}.completionMode`, mode, modes));
  if (mode === "Indexed") {
    if (completions === undefined) errors.push(required(`${path}.completions`, "when completion mode is Indexed"));
    if (parallelism !== undefined && parallelism > most) {
      const text = `must be less than or equal to ${most} when completion mode is Indexed`;
      errors.push(invalidField(`${path}.parallelism`, parallelism, text));
    }
    if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions) {
      const text = "must be less than or equal to completions";
      errors.push(invalidField(`${path}.maxFailedIndexes`, maxFailedIndexes, text));
    }
  }
  if (mode === undefined || mode === "NonIndexed") {
    for (const [field, value] of [
      ["backoffLimitPerIndex", backoffLimitPerIndex],
      ["maxFailedIndexes", maxFailedIndexes],
    ] as const) {
      if (value !== undefined) errors.push(invalidField(`${path}.${field}`, value, "requires indexed completion mode"));
    }
  }
  return errors;
}

const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const statuses = ["False", "True", "Unknown"];
const quoted = (list: readonly string[]) => `[${list.map((one) => `"${one}"`).join(" ")}]`;

function validateFailurePolicy(spec: JobSpec, path: string): FieldError[] {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const errors: FieldError[] = rules.length > 20 ? [tooMany(`${path}.rules`, rules.length, 20)] : [];
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = [...containers, ...initContainers].map(({ name }) => name);
  for (const [i, { action = "", onExitCodes, onPodConditions = [] }] of rules.entries()) {
    const at = `${path}.rules[${i}]`;
    if (action === "") errors.push(required(`${at}.action`, `valid values: ${quoted(actions)}`));
    else if (action === "FailIndex" && spec.backoffLimitPerIndex === undefined) {
      errors.push(invalidField(`${at}.action`, action, "requires the backoffLimitPerIndex to be set"));
    } else if (!actions.includes(action)) errors.push(notSupported(`${at}.action`, action, actions));
    if (onExitCodes) errors.push(...validateExitCodes(onExitCodes, names, `${at}.onExitCodes`));
    for (const [j, { type = "", status = "" }] of onPodConditions.entries()) {
      const pattern = `${at}.onPodConditions[${j}]`;
      errors.push(...qualifiedName(type).map((text) => invalidField(`${pattern}.type`, type, text)));
      if (status === "") errors.push(required(`${pattern}.status`, `valid values: ${quoted(statuses)}`));
      else if (!statuses.includes(status)) errors.push(notSupported(`${pattern}.status`, status, statuses));
    }
  }
  return errors;
}

function validateExitCodes(
  { operator = "", containerName, values = [] }: { operator?: string; containerName?: string; values?: number[] },
  names: readonly (string | undefined)[],
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (operator === "") errors.push(required(`${path}.operator`, `valid values: ${quoted(operators)}`));
  else if (!operators.includes(operator)) errors.push(notSupported(`${path}.operator`, operator, operators));
  if (containerName !== undefined && !names.includes(containerName)) {
    const text = "must be one of the container or initContainer names in the pod template";
    errors.push(invalidField(`${path}.containerName`, containerName, text));
  }
  const at = `${path}.values`;
  if (values.length === 0) errors.push(invalidField(at, values, "at least one value is required"));
  else if (values.length > 255) errors.push(tooMany(at, values.length, 255));
  for (const [i, value] of values.entries()) {
    if (operator === "In" && value === 0) {
      errors.push(invalidField(`${at}[${i}]`, value, "must not be 0 for the In operator"));
    }
    if (values.indexOf(value) < i) errors.push(duplicate(`${at}[${i}]`, value));
  }
  const isOrdered = values.every((value, i) => i === 0 || (values[i - 1] ?? 0) <= value);
  return isOrdered ? errors : [...errors, invalidField(at, values, "must be ordered")];
}

function validateSuccessPolicy(spec: JobSpec, path: string): FieldError[] {
  const { successPolicy, completionMode, completions = 0 } = spec;
  if (successPolicy === undefined) return [];
  const rules = successPolicy.rules ?? [];
  if (completionMode !== "Indexed") {
    const value = {
      Rules: rules.map(({ succeededIndexes = null, succeededCount = null }) => ({
        SucceededIndexes: succeededIndexes,
        SucceededCount: succeededCount,
      })),
    };
    return [invalidField(path, value, "requires indexed completion mode")];
  }
  if (rules.length === 0) {
    return [required(`${path}.rules`, "at least one rules must be specified when the successPolicy is specified")];
  }
  const errors = rules.length > 20 ? [tooMany(`${path}.rules`, rules.length, 20)] : [];
  for (const [i, { succeededIndexes, succeededCount }] of rules.entries()) {
    const at = `${path}.rules[${i}]`;
    if (succeededIndexes === undefined && succeededCount === undefined) {
      errors.push(required(at, "at least one of succeededCount or succeededIndexes must be specified"));
    }
    const found = countIndexes(succeededIndexes ?? "", completions);
    if (typeof found === "string") {
      const text = `error parsing succeededIndexes: ${found}`;
      errors.push(invalidField(`${at}.succeededIndexes`, succeededIndexes, text));
    }
    if (succeededCount === undefined) continue;
    errors.push(...nonNegative(succeededCount, `${at}.succeededCount`));
    const limit = (count: number, of: string) => {
      if (succeededCount <= count) return;
      const text = `must be less than or equal to ${count} (the number of ${of})`;
      errors.push(invalidField(`${at}.succeededCount`, succeededCount, text));
    };
    limit(completions, "specified completions");
    if (succeededIndexes !== undefined) {
      limit(typeof found === "number" ? found : 0, "indexes in the specified succeededIndexes field");
    }
  }
  return errors;
}

function validateReplacement({ podReplacementPolicy: policy, podFailurePolicy }: JobSpec, path: string): FieldError[] {
  const known = podFailurePolicy === undefined ? ["Failed", "TerminatingOrFailed"] : ["Failed"];
  if (policy === undefined || known.includes(policy)) return [];
  return [notSupported(`${path}.podReplacementPolicy`, policy, known)];
}

function validateRestartPolicy({ template, podFailurePolicy }: JobSpec, path: string): FieldError[] {
  const policy = template?.spec?.restartPolicy ?? "";
  if (policy === "" || policy === "Always") return [required(path, 'valid values: "OnFailure", "Never"')];
  if (policy !== "OnFailure" && policy !== "Never") return [notSupported(path, policy, ["OnFailure", "Never"])];
  if (podFailurePolicy === undefined || policy === "Never") return [];
  return [invalidField(path, policy, 'only "Never" is supported when podFailurePolicy is specified')];
}
