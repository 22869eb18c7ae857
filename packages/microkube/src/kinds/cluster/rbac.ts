import type { IClusterRole } from "kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRole";
import type { IPolicyRule } from "kubernetes-models/rbac.authorization.k8s.io/v1/PolicyRule";
import type { IRole } from "kubernetes-models/rbac.authorization.k8s.io/v1/Role";
import type { IRoleBinding } from "kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding";
import type { FieldError } from "../../field-error.ts";
import { invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, text, wide } from "../columns.ts";
import { type Draft, type DraftObject, defineResource, type KindDefinition } from "../kind.ts";
import { sameMeaning } from "../values/equality.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { dnsSubdomain, pathSegment } from "../values/name.ts";

const group = "rbac.authorization.k8s.io";
type Binding = DraftObject<IRoleBinding>;
type Subject = NonNullable<Binding["subjects"]>[number];

const role = defineResource<IRole>({
  group,
  kind: "Role",
  nameRule: pathSegment,
  createsOnUpdate: true,
  validate: ({ rules }) => validateRules(rules, true),
});

const clusterRole = defineResource<IClusterRole>({
  group,
  kind: "ClusterRole",
  nameRule: pathSegment,
  createsOnUpdate: true,
  validate({ rules, aggregationRule }) {
    const errors = validateRules(rules, false);
    if (aggregationRule === undefined) return errors;
    const selectors = (aggregationRule.clusterRoleSelectors ?? []) as LabelSelector[];
    const path = "aggregationRule.clusterRoleSelectors";
    if (selectors.length === 0) {
      errors.push(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
    }
    return [...errors, ...selectors.flatMap((one, i) => validateLabelSelector(one, `${path}[${i}]`))];
  },
});

function validateRules(rules: readonly Draft<IPolicyRule>[] | undefined, isNamespaced: boolean): FieldError[] {
  return (rules ?? []).flatMap((rule, i) => validateRule(rule, isNamespaced, `rules[${i}]`));
}

function validateRule(rule: Draft<IPolicyRule>, isNamespaced: boolean, path: string): FieldError[] {
  const { verbs = [], nonResourceURLs: urls = [], apiGroups = [], resources = [], resourceNames = [] } = rule;
  const errors: FieldError[] = [];
  if (verbs.length === 0) errors.push(required(`${path}.verbs`, "verbs must contain at least one value"));
  if (urls.length > 0) {
    const at = `${path}.nonResourceURLs`;
    if (isNamespaced) errors.push(invalidField(at, urls, "namespaced rules cannot apply to non-resource URLs"));
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      const why = "rules cannot apply to both regular resources and non-resource URLs";
      errors.push(invalidField(at, urls, why));
    }
    return errors;
  }
  if (apiGroups.length === 0) {
    errors.push(required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
  }
  if (resources.length === 0) {
    errors.push(required(`${path}.resources`, "resource rules must supply at least one resource"));
  }
  return errors;
}

const roleBinding = binding("RoleBinding", ["Role", "ClusterRole"], true);
const clusterRoleBinding = binding("ClusterRoleBinding", ["ClusterRole"], false);

function binding(kind: string, roles: readonly string[], isNamespaced: boolean): KindDefinition {
  const subjects = (object: Binding, wanted: string, named: (subject: Subject) => string) =>
    (object.subjects ?? [])
      .filter((one) => one.kind === wanted)
      .map(named)
      .join(", ");
  return defineResource<IRoleBinding>({
    group,
    kind,
    nameRule: pathSegment,
    createsOnUpdate: true,
    default({ roleRef, subjects: list = [] }) {
      if (roleRef !== undefined) roleRef.apiGroup ||= group;
      for (const subject of list) if (subject.kind !== "ServiceAccount") subject.apiGroup ||= group;
    },
    validate: (object) => validateBinding(object, roles, isNamespaced),
    validateUpdate: (object, old) => [
      ...validateBinding(object, roles, isNamespaced),
      ...(sameMeaning(object.roleRef, old.roleRef)
        ? []
        : [invalidField("roleRef", capitalized(object.roleRef ?? {}), "cannot change roleRef")]),
    ],
    columns: columnsOf<IRoleBinding>(
      text("Role", ({ roleRef }) => `${roleRef?.kind ?? ""}/${roleRef?.name ?? ""}`),
      wide(text("Users", (object) => subjects(object, "User", ({ name = "" }) => name))),
      wide(text("Groups", (object) => subjects(object, "Group", ({ name = "" }) => name))),
      wide(
        text("ServiceAccounts", (object) =>
          subjects(object, "ServiceAccount", ({ namespace = "", name = "" }) => `${namespace}/${name}`),
        ),
      ),
    ),
  });
}

const capitalized = ({ apiGroup = "", kind = "", name = "" }: { apiGroup?: string; kind?: string; name?: string }) => ({
  APIGroup: apiGroup,
  Kind: kind,
  Name: name,
});

function validateBinding({ roleRef = {}, subjects = [] }: Binding, roles: readonly string[], isNamespaced: boolean) {
  const { apiGroup = "", kind = "", name = "" } = roleRef;
  const errors: FieldError[] = [];
  if (apiGroup !== group) errors.push(notSupported("roleRef.apiGroup", apiGroup, [group]));
  if (!roles.includes(kind)) errors.push(notSupported("roleRef.kind", kind, roles));
  if (name === "") errors.push(required("roleRef.name"));
  else errors.push(...pathSegment(name).map((one) => invalidField("roleRef.name", name, one)));
  return [...errors, ...subjects.flatMap((one, i) => validateSubject(one, isNamespaced, `subjects[${i}]`))];
}

function validateSubject(subject: Subject, isNamespaced: boolean, path: string): FieldError[] {
  const { kind = "", name = "", apiGroup = "", namespace = "" } = subject;
  const errors: FieldError[] = name === "" ? [required(`${path}.name`)] : [];
  if (kind === "ServiceAccount") {
    if (name !== "") errors.push(...dnsSubdomain(name).map((one) => invalidField(`${path}.name`, name, one)));
    if (apiGroup !== "") errors.push(notSupported(`${path}.apiGroup`, apiGroup, [""]));
    if (!isNamespaced && namespace === "") errors.push(required(`${path}.namespace`));
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== group) errors.push(notSupported(`${path}.apiGroup`, apiGroup, [group]));
  } else errors.push(notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"]));
  return errors;
}

export const rbacKinds: readonly KindDefinition[] = [role, clusterRole, roleBinding, clusterRoleBinding];
