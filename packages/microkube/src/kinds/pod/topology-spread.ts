import type { ITopologySpreadConstraint } from "kubernetes-models/v1/TopologySpreadConstraint";
import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { positive } from "../values/number.ts";
import { validateLabelKeys } from "./label-keys.ts";

type Constraint = Draft<ITopologySpreadConstraint>;
const actions = ["DoNotSchedule", "ScheduleAnyway"];
const policies = ["Honor", "Ignore"];

export function validateTopologySpread(constraints: readonly Constraint[] | undefined, path: string): FieldError[] {
  const all = constraints ?? [];
  return all.flatMap((constraint, i) => validateConstraint(constraint, all.slice(i + 1), `${path}[${i}]`));
}

function validateConstraint(constraint: Constraint, later: readonly Constraint[], path: string): FieldError[] {
  const { topologyKey = "", whenUnsatisfiable = "", minDomains, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
  const errors = positive(constraint.maxSkew, `${path}.maxSkew`);
  if (topologyKey === "") errors.push(required(`${path}.topologyKey`, "can not be empty"));
  if (!actions.includes(whenUnsatisfiable)) {
    errors.push(notSupported(`${path}.whenUnsatisfiable`, whenUnsatisfiable, actions));
  }
  if (later.some((one) => one.topologyKey === topologyKey && one.whenUnsatisfiable === whenUnsatisfiable)) {
    const value = `{${topologyKey}, ${whenUnsatisfiable}}`;
    errors.push(duplicate(`${path}.{topologyKey, whenUnsatisfiable}`, value));
  }
  if (minDomains !== undefined) {
    errors.push(...positive(minDomains, `${path}.minDomains`));
    if (whenUnsatisfiable !== "DoNotSchedule") {
      const text = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      errors.push(invalidField(`${path}.minDomains`, minDomains, text));
    }
  }
  errors.push(...validatePolicy(nodeAffinityPolicy, `${path}.nodeAffinityPolicy`));
  errors.push(...validatePolicy(nodeTaintsPolicy, `${path}.nodeTaintsPolicy`));
  const selector = constraint.labelSelector as LabelSelector | undefined;
  errors.push(...validateLabelKeys(constraint.matchLabelKeys, undefined, selector, path));
  return [...errors, ...validateLabelSelector(selector, `${path}.labelSelector`)];
}

function validatePolicy(policy: string | undefined, path: string): FieldError[] {
  return policy === undefined || policies.includes(policy) ? [] : [notSupported(path, policy, policies)];
}
