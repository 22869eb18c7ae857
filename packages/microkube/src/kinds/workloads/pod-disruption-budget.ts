import type { IPodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import type { FieldError } from "../../field-error.ts";
import { invalidField, notSupported } from "../../field-error.ts";
import { columnsOf, integer, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { nonNegative, validateAtMostHundredPercent, validateCountOrPercent } from "../values/number.ts";

type Budget = DraftObject<IPodDisruptionBudget>;
const policies = ["AlwaysAllow", "IfHealthyBudget"];
const counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const;

export const podDisruptionBudget = defineResource<IPodDisruptionBudget>({
  group: "policy",
  kind: "PodDisruptionBudget",
  hasStatus: true,
  generation: "spec",
  validate,
  validateStatus: ({ status }) => counts.flatMap((field) => nonNegative(status?.[field], `status.${field}`)),
  columns: columnsOf<IPodDisruptionBudget>(
    text("Min Available", ({ spec }) => String(spec?.minAvailable ?? "N/A")),
    text("Max Unavailable", ({ spec }) => String(spec?.maxUnavailable ?? "N/A")),
    integer("Allowed Disruptions", ({ status }) => status?.disruptionsAllowed ?? 0),
  ),
});

function validate({ spec = {} }: Budget): FieldError[] {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy } = spec;
  const errors: FieldError[] = [];
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const value = {
      MinAvailable: minAvailable,
      Selector: spec.selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: policy ?? null,
    };
    errors.push(invalidField("spec", value, "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const field of ["minAvailable", "maxUnavailable"] as const) {
    errors.push(...validateCountOrPercent(spec[field], `spec.${field}`));
    errors.push(...validateAtMostHundredPercent(spec[field], `spec.${field}`));
  }
  errors.push(...validateLabelSelector(spec.selector as LabelSelector | undefined, "spec.selector"));
  if (policy === undefined || policies.includes(policy)) return errors;
  return [...errors, notSupported("spec.unhealthyPodEvictionPolicy", policy, policies)];
}
