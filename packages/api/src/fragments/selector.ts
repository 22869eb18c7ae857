import { array, enumeration, labelKey, labels, labelValue, object } from "../schema/index.ts";

/** Kubernetes' own label selector, with its rules said in words. */
export function labelSelector() {
  return object(
    {
      matchLabels: labels({ maxProperties: 32 }).optional().describe("Labels that must have exactly these values."),
      matchExpressions: array(requirement, { maxItems: 32 }).optional().describe("Conditions that must all hold."),
    },
    { atomic: true },
  );
}

const requirement = object({
  key: labelKey().describe("The label that is looked at."),
  operator: enumeration({
    In: "its value is one of `values`.",
    NotIn: "it is missing or its value is none of `values`.",
    Exists: "it is there.",
    DoesNotExist: "it is missing.",
  }).describe("What must hold."),
  values: array(labelValue(), { maxItems: 64 }).optional().describe("Values for `In` and `NotIn`."),
}).rule(
  "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
  "In and NotIn need at least one of values; Exists and DoesNotExist take none",
);
