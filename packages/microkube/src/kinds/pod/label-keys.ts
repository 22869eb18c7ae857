import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField } from "../../field-error.ts";
import { validateLabelName } from "../values/label.ts";
import type { LabelSelector } from "../values/label-selector.ts";
import type { Pod } from "./pod-update.ts";

const ofAffinity = ["podAffinity", "podAntiAffinity"] as const;

/** What selects other pods, and may say that their labels are to be like, or unlike, those of the pod itself. */
interface OwnLabels {
  labelSelector?: unknown;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
}

/** Writes the pod's own labels into the selectors that name them by key: there the scheduler looks for them. */
export function mergeLabelKeys({ metadata, spec }: Pod): void {
  const labels = metadata.labels ?? {};
  const terms = ofAffinity.flatMap((field) => {
    const affinity = spec?.affinity?.[field];
    return [
      ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => one.podAffinityTerm ?? {}),
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ];
  });
  for (const one of [...terms, ...(spec?.topologySpreadConstraints ?? [])]) mergeInto(one as OwnLabels, labels);
}

function mergeInto(term: OwnLabels, labels: Readonly<Record<string, string>>): void {
  const { matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  const selector = term.labelSelector as LabelSelector | undefined;
  // What has no selector selects nothing.
  if (selector === undefined || matchLabelKeys.length + mismatchLabelKeys.length === 0) return;
  const said = (keys: readonly string[], operator: "In" | "NotIn") =>
    keys.flatMap((key) => (Object.hasOwn(labels, key) ? [{ key, operator, values: [labels[key] as string] }] : []));
  const more = [...said(matchLabelKeys, "In"), ...said(mismatchLabelKeys, "NotIn")];
  if (more.length > 0) {
    term.labelSelector = { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...more] };
  }
}

/** Of a pod they have been merged before; a template's wait for its pods. */
export function validateLabelKeys(
  matching: readonly string[] | undefined,
  mismatching: readonly string[] | undefined,
  selector: LabelSelector | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [field, keys] of [
    ["matchLabelKeys", matching],
    ["mismatchLabelKeys", mismatching],
  ] as const) {
    if (keys === undefined || keys.length === 0) continue;
    if (selector === undefined) {
      errors.push(forbiddenField(`${path}.${field}`, "must not be specified when labelSelector is not set"));
    } else errors.push(...keys.flatMap((key, i) => validateLabelName(key, `${path}.${field}[${i}]`)));
  }
  errors.push(...saidTwice(matching ?? [], selector, path));
  for (const [i, key] of (matching ?? []).entries()) {
    if (!mismatching?.includes(key)) continue;
    const text = "exists in both matchLabelKeys and mismatchLabelKeys";
    errors.push(invalidField(`${path}.matchLabelKeys[${i}]`, key, text));
  }
  return errors;
}

/** A key that the selector has once is the merged one; a second time somebody has written it there. */
function saidTwice(keys: readonly string[], selector: LabelSelector | undefined, path: string): FieldError[] {
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  return (selector?.matchExpressions ?? []).flatMap(({ key = "" }) => {
    const isSecond = seen.has(key);
    seen.add(key);
    if (!isSecond || !keys.includes(key)) return [];
    // The real server leaves the field's name out of the path.
    const at = `${path}[${keys.lastIndexOf(key)}]`;
    return [invalidField(at, key, "exists in both matchLabelKeys and labelSelector")];
  });
}
