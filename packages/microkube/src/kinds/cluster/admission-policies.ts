import type { IMatchResources } from "kubernetes-models/admissionregistration.k8s.io/v1/MatchResources";
import type { IValidatingAdmissionPolicy } from "kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy";
import type { IValidatingAdmissionPolicyBinding } from "kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding";
import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, integer, text } from "../columns.ts";
import { type Draft, type DraftObject, defineResource, type KindDefinition } from "../kind.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { dnsSubdomain } from "../values/name.ts";
import { type OperationRule, validateOperationRule } from "./operation-rule.ts";

type Policy = DraftObject<IValidatingAdmissionPolicy>;
type Spec = NonNullable<Policy["spec"]> & { mutations?: unknown[]; reinvocationPolicy?: string };
type Binding = DraftObject<IValidatingAdmissionPolicyBinding>;
type Match = Draft<IMatchResources>;
const group = "admissionregistration.k8s.io";

const policy = (kind: string, counted: KindDefinition["columns"], validate: (spec: Spec) => FieldError[]) =>
  defineResource<IValidatingAdmissionPolicy>({
    group,
    kind,
    hasStatus: true,
    generation: "spec",
    default({ spec }) {
      if (spec === undefined) return;
      spec.failurePolicy ??= "Fail";
      defaultMatch(spec.matchConstraints);
    },
    validate: ({ spec }) => [...validateSpec((spec ?? {}) as Spec), ...validate((spec ?? {}) as Spec)],
    ...(counted && { columns: counted as never }),
  });

const paramKind = text<IValidatingAdmissionPolicy>("ParamKind", ({ spec }) => {
  const { apiVersion, kind } = spec?.paramKind ?? {};
  return spec?.paramKind === undefined ? "<unset>" : `${apiVersion}/${kind}`;
});

const validatingAdmissionPolicy = policy(
  "ValidatingAdmissionPolicy",
  columnsOf<IValidatingAdmissionPolicy>(
    integer("Validations", ({ spec }) => (spec?.validations ?? []).length),
    paramKind,
  ) as never,
  ({ validations = [], auditAnnotations = [] }) => {
    const errors: FieldError[] = [];
    if (validations.length === 0 && auditAnnotations.length === 0) {
      const why = "validations or auditAnnotations must contain at least one item";
      errors.push(required("spec.validations", why), required("spec.auditAnnotations", why));
    }
    for (const [i, { expression = "", message }] of validations.entries()) {
      if (expression.trim() === "") {
        errors.push(required(`spec.validations[${i}].expression`, "expression is not specified"));
      }
      if (message?.includes("\n")) {
        errors.push(invalidField(`spec.validations[${i}].message`, message, "message must not contain line breaks"));
      }
    }
    return errors;
  },
);

const mutatingAdmissionPolicy = policy(
  "MutatingAdmissionPolicy",
  columnsOf<IValidatingAdmissionPolicy>(
    integer("Mutations", ({ spec }) => ((spec as Spec | undefined)?.mutations ?? []).length),
    paramKind,
  ) as never,
  ({ mutations = [] }) =>
    mutations.length === 0 ? [required("spec.mutations", "mutations must contain at least one item")] : [],
);

function defaultMatch(match: Match | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= "Equivalent";
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) rule.scope ??= "*";
}

function validateSpec(spec: Spec): FieldError[] {
  const { failurePolicy, paramKind: kind, matchConstraints } = spec;
  const errors: FieldError[] = [];
  if (failurePolicy !== undefined && !["Fail", "Ignore"].includes(failurePolicy)) {
    errors.push(notSupported("spec.failurePolicy", failurePolicy, ["Fail", "Ignore"]));
  }
  if (kind !== undefined) {
    if (!kind.apiVersion) errors.push(required("spec.paramKind.apiVersion"));
    if (!kind.kind) errors.push(required("spec.paramKind.kind"));
  }
  if (matchConstraints === undefined) errors.push(required("spec.matchConstraints"));
  else {
    errors.push(...validateMatch(matchConstraints, "spec.matchConstraints"));
    if ((matchConstraints.resourceRules ?? []).length === 0)
      errors.push(required("spec.matchConstraints.resourceRules"));
  }
  const names = new Set<string>();
  for (const [i, { name = "" }] of (spec.variables ?? []).entries()) {
    if (name === "") errors.push(required(`spec.variables[${i}].name`, "name is not specified"));
    if (names.has(name)) errors.push(duplicate(`spec.variables[${i}].name`, name));
    names.add(name);
  }
  return errors;
}

function validateMatch(match: Match, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { matchPolicy } = match;
  if (matchPolicy !== undefined && !["Equivalent", "Exact"].includes(matchPolicy)) {
    errors.push(notSupported(`${path}.matchPolicy`, matchPolicy, ["Equivalent", "Exact"]));
  }
  errors.push(...validateLabelSelector(match.namespaceSelector as LabelSelector, `${path}.namespaceSelector`));
  errors.push(...validateLabelSelector(match.objectSelector as LabelSelector, `${path}.objectSelector`));
  for (const field of ["resourceRules", "excludeResourceRules"] as const) {
    for (const [i, rule] of (match[field] ?? []).entries()) {
      errors.push(...validateOperationRule(rule as OperationRule, `${path}.${field}[${i}]`));
    }
  }
  return errors;
}

const actions = ["Audit", "Deny", "Warn"];

const binding = (kind: string, isValidating: boolean) =>
  defineResource<IValidatingAdmissionPolicyBinding>({
    group,
    kind,
    generation: "spec",
    default({ spec }) {
      defaultMatch(spec?.matchResources);
    },
    validate: (object) => validateBinding(object, isValidating),
    columns: columnsOf<IValidatingAdmissionPolicyBinding>(
      text("PolicyName", ({ spec }) => spec?.policyName ?? ""),
      text("ParamRef", ({ spec }) => {
        const { namespace, name, selector } = spec?.paramRef ?? {};
        if (spec?.paramRef === undefined) return "<unset>";
        if (name) return namespace ? `${namespace}/${name}` : `*/${name}`;
        return selector === undefined ? "<unset>" : `${namespace ?? "*"}/*`;
      }),
    ),
  });

function validateBinding({ spec = {} }: Binding, isValidating: boolean): FieldError[] {
  const { policyName = "", paramRef, matchResources, validationActions: asked = [] } = spec;
  const errors: FieldError[] =
    policyName === ""
      ? [required("spec.policyName")]
      : dnsSubdomain(policyName).map((one) => invalidField("spec.policyName", policyName, one));
  if (paramRef !== undefined) {
    const { name, selector, parameterNotFoundAction: action } = paramRef;
    if (name && selector) {
      errors.push({
        type: "FieldValueForbidden",
        field: "spec.paramRef.name",
        detail: "name and selector are mutually exclusive",
      });
    }
    if (!name && selector === undefined)
      errors.push(required("spec.paramRef", "one of name or selector must be specified"));
    if (action === undefined) errors.push(required("spec.paramRef.parameterNotFoundAction"));
    else if (action !== "Allow" && action !== "Deny") {
      errors.push(notSupported("spec.paramRef.parameterNotFoundAction", action, ["Deny", "Allow"]));
    }
  }
  if (matchResources !== undefined) errors.push(...validateMatch(matchResources, "spec.matchResources"));
  if (!isValidating) return errors;
  if (asked.length === 0) errors.push(required("spec.validationActions", "at least one validation action is required"));
  for (const [i, action = ""] of asked.entries()) {
    if (!actions.includes(action)) errors.push(notSupported(`spec.validationActions[${i}]`, action, actions));
    if (asked.indexOf(action) < i) errors.push(duplicate(`spec.validationActions[${i}]`, action));
  }
  if (asked.includes("Deny") && asked.includes("Warn")) {
    const why =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    errors.push(invalidField("spec.validationActions", asked, why));
  }
  return errors;
}

export const admissionPolicyKinds: readonly KindDefinition[] = [
  validatingAdmissionPolicy,
  mutatingAdmissionPolicy,
  binding("ValidatingAdmissionPolicyBinding", true),
  binding("MutatingAdmissionPolicyBinding", false),
];
