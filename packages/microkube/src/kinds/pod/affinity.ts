import type { IAffinity } from "kubernetes-models/v1/Affinity";
import type { INodeSelector } from "kubernetes-models/v1/NodeSelector";
import type { INodeSelectorRequirement } from "kubernetes-models/v1/NodeSelectorRequirement";
import type { INodeSelectorTerm } from "kubernetes-models/v1/NodeSelectorTerm";
import type { IPodAffinity } from "kubernetes-models/v1/PodAffinity";
import type { IPodAffinityTerm } from "kubernetes-models/v1/PodAffinityTerm";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { labelValue, validateLabelName } from "../values/label.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { dnsLabel, dnsSubdomain } from "../values/name.ts";
import { validateLabelKeys } from "./label-keys.ts";

const requiredOnes = "requiredDuringSchedulingIgnoredDuringExecution";
const preferredOnes = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(affinity: Draft<IAffinity> | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const node = affinity?.nodeAffinity;
  const must = node?.[requiredOnes];
  if (must) errors.push(...validateNodeSelector(must, `${path}.nodeAffinity.${requiredOnes}`));
  for (const [i, { weight = 0, preference = {} }] of (node?.[preferredOnes] ?? []).entries()) {
    const at = `${path}.nodeAffinity.${preferredOnes}[${i}]`;
    errors.push(...validateWeight(weight, at), ...validateTerm(preference, `${at}.preference`, false));
  }
  errors.push(...validatePodAffinity(affinity?.podAffinity, `${path}.podAffinity`));
  errors.push(...validatePodAffinity(affinity?.podAntiAffinity, `${path}.podAntiAffinity`));
  return errors;
}

function validateWeight(weight: number, path: string): FieldError[] {
  return weight > 0 && weight <= 100 ? [] : [invalidField(`${path}.weight`, weight, "must be in the range 1-100")];
}

export function validateNodeSelector(selector: Draft<INodeSelector>, path: string): FieldError[] {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) return [required(`${path}.nodeSelectorTerms`, "must have at least one node selector term")];
  return terms.flatMap((term, i) => validateTerm(term, `${path}.nodeSelectorTerms[${i}]`, true));
}

function validateTerm(term: Draft<INodeSelectorTerm>, path: string, strict: boolean): FieldError[] {
  return [
    ...(term.matchExpressions ?? []).flatMap((one, i) =>
      validateRequirement(one, `${path}.matchExpressions[${i}]`, strict),
    ),
    ...(term.matchFields ?? []).flatMap((one, i) => validateFieldRequirement(one, `${path}.matchFields[${i}]`)),
  ];
}

type Requirement = Draft<INodeSelectorRequirement>;

function validateRequirement({ key = "", operator = "", values = [] }: Requirement, path: string, strict: boolean) {
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
  } else if (operator === "Gt" || operator === "Lt") {
    if (values.length !== 1) {
      errors.push(required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else errors.push(invalidField(`${path}.operator`, operator, "not a valid selector operator"));
  errors.push(...validateLabelName(key, `${path}.key`));
  if (!strict) return errors;
  for (const [i, value = ""] of values.entries()) {
    errors.push(...labelValue(value).map((text) => invalidField(`${path}.values[${i}]`, value, text)));
  }
  return errors;
}

function validateFieldRequirement({ key = "", operator = "", values = [] }: Requirement, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (operator !== "In" && operator !== "NotIn") {
    errors.push(invalidField(`${path}.operator`, operator, "not a valid selector operator"));
  } else if (values.length !== 1) {
    const text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(`${path}.values`, text));
  }
  if (key !== "metadata.name") {
    return [...errors, invalidField(`${path}.key`, key, "not a valid field selector key")];
  }
  for (const [i, value = ""] of values.entries()) {
    errors.push(...dnsSubdomain(value).map((text) => invalidField(`${path}.values[${i}]`, value, text)));
  }
  return errors;
}

function validatePodAffinity(affinity: Draft<IPodAffinity> | undefined, path: string): FieldError[] {
  return [
    ...(affinity?.[requiredOnes] ?? []).flatMap((term, i) => validatePodTerm(term, `${path}.${requiredOnes}[${i}]`)),
    ...(affinity?.[preferredOnes] ?? []).flatMap(({ weight = 0, podAffinityTerm = {} }, i) => {
      const at = `${path}.${preferredOnes}[${i}]`;
      return [...validateWeight(weight, at), ...validatePodTerm(podAffinityTerm, `${at}.podAffinityTerm`)];
    }),
  ];
}

function validatePodTerm(term: Draft<IPodAffinityTerm>, path: string): FieldError[] {
  const {
    labelSelector,
    namespaceSelector,
    namespaces = [],
    matchLabelKeys,
    mismatchLabelKeys,
    topologyKey = "",
  } = term;
  const errors = [
    ...validateLabelSelector(labelSelector as LabelSelector, `${path}.labelSelector`),
    ...validateLabelSelector(namespaceSelector as LabelSelector, `${path}.namespaceSelector`),
  ];
  for (const name of namespaces) {
    errors.push(...dnsLabel(name ?? "").map((text) => invalidField(`${path}.namespace`, name, text)));
  }
  errors.push(...validateLabelKeys(matchLabelKeys, mismatchLabelKeys, labelSelector as LabelSelector, path));
  if (topologyKey === "") errors.push(required(`${path}.topologyKey`, "can not be empty"));
  return [...errors, ...validateLabelName(topologyKey, `${path}.topologyKey`)];
}
