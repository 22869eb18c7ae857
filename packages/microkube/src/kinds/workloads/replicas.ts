import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { type PodTemplate, validatePodTemplate } from "../pod/pod-template.ts";
import { byKey } from "../values/equality.ts";
import { isEmptySelector, type LabelSelector, selects, validateLabelSelector } from "../values/label-selector.ts";
import { nonNegative } from "../values/number.ts";

/** What a workload selects its pods by must be there, and select the pods of its template. */
export function validateSelection(
  spec: { selector?: unknown; template?: PodTemplate },
  owner: { readonly empty: string; readonly deadline: string },
): FieldError[] {
  const selector = spec.selector as LabelSelector | undefined;
  const path = "spec.selector";
  const wrong = validateLabelSelector(selector, path);
  const errors: FieldError[] = selector === undefined ? [required(path)] : [...wrong];
  if (selector !== undefined && isEmptySelector(selector)) {
    errors.push(invalidField(path, selector, `empty selector is invalid for ${owner.empty}`));
  }
  const isReadable = !wrong.some(({ field }) => field.endsWith(".operator") || field.endsWith(".values"));
  if (!isReadable) return [...errors, invalidField(path, selector, "invalid label selector")];
  return [...errors, ...validateOwnTemplate(spec.template ?? {}, selector, owner.deadline)];
}

/** A template whose pods run for good and are this selector's. */
export function validateOwnTemplate(
  template: PodTemplate,
  selector: LabelSelector | undefined,
  owner: string,
): FieldError[] {
  const labels = template.metadata?.labels as Record<string, string> | undefined;
  const errors: FieldError[] = [];
  const isAnything = selector !== undefined && isEmptySelector(selector);
  if (!isAnything && !selects(selector, labels ?? {})) {
    const text = "`selector` does not match template `labels`";
    errors.push(invalidField("spec.template.metadata.labels", byKey(labels), text));
  }
  errors.push(...validatePodTemplate(template, "spec.template"));
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== "Always") {
    errors.push(notSupported("spec.template.spec.restartPolicy", restartPolicy ?? "", ["Always"]));
  }
  if (activeDeadlineSeconds !== undefined) {
    const text = `activeDeadlineSeconds in ${owner} is not Supported`;
    errors.push(forbiddenField("spec.template.spec.activeDeadlineSeconds", text));
  }
  return errors;
}

/** Counts of pods: none below zero, and no part more than the whole. */
export function validateCounts(
  status: Readonly<Record<string, unknown>> | undefined,
  parts: readonly string[],
  readyName = "readyReplicas",
): FieldError[] {
  const count = (name: string) => (status?.[name] as number | undefined) ?? 0;
  const errors = ["replicas", ...parts, "observedGeneration"].flatMap((name) =>
    nonNegative(count(name), `status.${name}`),
  );
  for (const name of parts) {
    if (name === "unavailableReplicas" || name === "terminatingReplicas" || count(name) <= count("replicas")) continue;
    errors.push(invalidField(`status.${name}`, count(name), "cannot be greater than status.replicas"));
  }
  if (count("availableReplicas") > count("readyReplicas")) {
    const text = `cannot be greater than ${readyName}`;
    errors.push(invalidField("status.availableReplicas", count("availableReplicas"), text));
  }
  return errors;
}

export function validateCollisions(now: number | undefined, before: number | undefined): FieldError[] {
  if ((now ?? 0) >= (before ?? 0)) return nonNegative(now, "status.collisionCount");
  return [invalidField("status.collisionCount", now ?? 0, "cannot be decremented")];
}
