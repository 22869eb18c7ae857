import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, required } from "../../field-error.ts";
import { labelValue, validateLabelName, validateLabels } from "./label.ts";

/** meta/v1 LabelSelector, as far as it was filled in. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: Requirement[];
}

interface Requirement {
  key?: string;
  operator?: string;
  values?: string[];
}

export function validateLabelSelector(selector: LabelSelector | undefined, path: string): FieldError[] {
  if (selector === undefined) return [];
  return [
    ...validateLabels(selector.matchLabels, `${path}.matchLabels`),
    ...(selector.matchExpressions ?? []).flatMap((one, i) =>
      validateRequirement(one, `${path}.matchExpressions[${i}]`),
    ),
  ];
}

function validateRequirement({ key = "", operator = "", values = [] }: Requirement, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) {
      errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) {
      const text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.push(forbiddenField(`${path}.values`, text));
    }
  } else errors.push(invalidField(`${path}.operator`, operator, "not a valid selector operator"));
  errors.push(...validateLabelName(key, `${path}.key`));
  for (const [i, value] of values.entries()) {
    errors.push(...labelValue(value).map((text) => invalidField(`${path}.values[${i}]`, value, text)));
  }
  return errors;
}

/** Whether it selects everything: nothing is asked for. */
export function isEmptySelector(selector: LabelSelector | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
}

/** Nothing is selected by no selector, everything by an empty one. */
export function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return false;
  const wanted = Object.entries(selector.matchLabels ?? {});
  if (!wanted.every(([name, value]) => labels[name] === value)) return false;
  return (selector.matchExpressions ?? []).every(({ key = "", operator, values = [] }) => {
    const value = labels[key];
    if (operator === "In") return value !== undefined && values.includes(value);
    if (operator === "NotIn") return value === undefined || !values.includes(value);
    return operator === "Exists" ? value !== undefined : value === undefined;
  });
}

/** As tables and Scale show it: `app=web,tier in (a,b)`. */
export function selectorText(selector: LabelSelector | undefined): string {
  const parts: { key: string; text: string }[] = [];
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) parts.push({ key, text: `${key}=${value}` });
  for (const { key = "", operator, values = [] } of selector?.matchExpressions ?? []) {
    parts.push({ key, text: requirementText(key, operator ?? "", [...values].sort()) });
  }
  return parts
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ text }) => text)
    .join(",");
}

function requirementText(key: string, operator: string, values: string[]): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
}
