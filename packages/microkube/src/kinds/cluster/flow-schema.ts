import type { IFlowSchema } from "kubernetes-models/flowcontrol.apiserver.k8s.io/v1/FlowSchema";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { ageColumn, nameColumn, orNone, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { dnsLabel, dnsSubdomain } from "../values/name.ts";

type Spec = NonNullable<DraftObject<IFlowSchema>["spec"]>;
type Rule = NonNullable<Spec["rules"]>[number];
type Subject = NonNullable<Rule["subjects"]>[number];
type ResourceRule = NonNullable<Rule["resourceRules"]>[number];
type NonResourceRule = NonNullable<Rule["nonResourceRules"]>[number];

const lowest = 10_000;
const distinguishers = ["ByNamespace", "ByUser"];
const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/** Which requests wait in which queue. microkube keeps them as any object, and has no queues. */
export const flowSchema = defineResource<IFlowSchema>({
  group: "flowcontrol.apiserver.k8s.io",
  kind: "FlowSchema",
  nameRule: dnsSubdomain,
  hasStatus: true,
  generation: "spec",
  default(object) {
    object.spec ??= {};
    object.spec.matchingPrecedence ||= 1000;
  },
  validate: ({ metadata, spec = {} }) => validateSpec(metadata.name ?? "", spec),
  validateStatus: ({ status }) => validateConditions(status?.conditions),
  columns: [
    nameColumn(),
    text("PriorityLevel", ({ spec }) => spec?.priorityLevelConfiguration?.name ?? ""),
    text("MatchingPrecedence", ({ spec }) => spec?.matchingPrecedence ?? 0),
    text("DistinguisherMethod", ({ spec }) => orNone(spec?.distinguisherMethod?.type)),
    ageColumn(),
    text("MissingPL", ({ status }) => status?.conditions?.find(({ type }) => type === "Dangling")?.status ?? "?"),
  ],
});

/** What a status may not say: also that of a priority level. */
export function validateConditions(conditions: readonly { type?: string }[] | undefined): FieldError[] {
  return (conditions ?? []).flatMap(({ type = "" }, i, all) => {
    const path = `status.conditions[${i}].type`;
    const isAgain = all.findIndex((one) => (one.type ?? "") === type) < i;
    return [...(isAgain ? [duplicate(path, type)] : []), ...(type === "" ? [required(path)] : [])];
  });
}

function validateSpec(name: string, spec: Spec): FieldError[] {
  const errors: FieldError[] = [];
  const { matchingPrecedence: precedence = 0, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  const wrong = (why: string) => errors.push(invalidField("spec.matchingPrecedence", precedence, why));
  if (precedence <= 0) wrong("must be a positive value");
  if (precedence > lowest) wrong(`must not be greater than ${lowest}`);
  if (precedence === 1 && name !== "exempt") wrong("only the schema named 'exempt' may have matchingPrecedence 1");
  if (distinguisherMethod && !distinguishers.includes(distinguisherMethod.type ?? "")) {
    // Of Kubernetes' internal type, whose fields have Go's names.
    const value = { Type: distinguisherMethod.type ?? "" };
    errors.push(notSupported("spec.distinguisherMethod.type", value, distinguishers));
  }
  const level = priorityLevelConfiguration?.name ?? "";
  const path = "spec.priorityLevelConfiguration.name";
  if (level === "") errors.push(required(path, "must reference a priority level"));
  else errors.push(...dnsSubdomain(level).map((why) => invalidField(path, level, why)));
  return [...errors, ...rules.flatMap((rule, i) => validateRule(rule, `spec.rules[${i}]`))];
}

function validateRule({ subjects, resourceRules, nonResourceRules }: Rule, path: string): FieldError[] {
  const errors: FieldError[] = (subjects ?? []).flatMap((one, i) => validateSubject(one, `${path}.subjects[${i}]`));
  if (!subjects?.length) errors.push(required(`${path}.subjects`, "subjects must contain at least one value"));
  if (!resourceRules?.length && !nonResourceRules?.length) {
    errors.push(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"));
  }
  return [
    ...errors,
    ...(resourceRules ?? []).flatMap((one, i) => validateResourceRule(one, `${path}.resourceRules[${i}]`)),
    ...(nonResourceRules ?? []).flatMap((one, i) => validateNonResourceRule(one, `${path}.nonResourceRules[${i}]`)),
  ];
}

const subjectFields = { ServiceAccount: "serviceAccount", User: "user", Group: "group" } as const;

function validateSubject(subject: Subject, path: string): FieldError[] {
  const { kind = "" } = subject;
  if (!Object.hasOwn(subjectFields, kind))
    return [notSupported(`${path}.kind`, kind, Object.keys(subjectFields).sort())];
  return Object.entries(subjectFields).flatMap(([of, field]) => {
    const at = `${path}.${field}`;
    const value = subject[field] as { name?: string; namespace?: string } | undefined;
    if (of !== kind) {
      return value ? [forbiddenField(at, `${field} is forbidden when subject kind is not '${of}'`)] : [];
    }
    if (!value) return [required(at, `${field} is required when subject kind is '${of}'`)];
    const { name = "", namespace = "" } = value;
    const errors = name === "" ? [required(`${at}.name`)] : [];
    if (of !== "ServiceAccount") return errors;
    if (name !== "" && name !== "*")
      errors.push(...dnsSubdomain(name).map((why) => invalidField(`${at}.name`, name, why)));
    if (namespace === "") errors.push(required(`${at}.namespace`, "must specify namespace for service account"));
    else errors.push(...dnsLabel(namespace).map((why) => invalidField(`${at}.namespace`, namespace, why)));
    return errors;
  });
}

function validateVerbs(asked: readonly string[] | undefined, path: string): FieldError[] {
  if (!asked?.length) return [required(path, "verbs must contain at least one value")];
  if (asked.includes("*")) return alone(asked, path, "verbs");
  return asked.every((verb) => verbs.includes(verb)) ? [] : [notSupported(path, asked, verbs)];
}

function alone(values: readonly string[], path: string, what: string): FieldError[] {
  if (values.length === 1 || !values.includes("*")) return [];
  return [invalidField(path, values, `if '*' is present, must not specify other ${what}`)];
}

function validateResourceRule(rule: ResourceRule, path: string): FieldError[] {
  const { apiGroups = [], resources = [], namespaces = [], clusterScope } = rule;
  const errors = validateVerbs(rule.verbs, `${path}.verbs`);
  const needed = (values: readonly string[], field: string, one: string, many: string) => {
    if (values.length > 0) errors.push(...alone(values, `${path}.${field}`, many));
    else errors.push(required(`${path}.${field}`, `resource rules must supply at least one ${one}`));
  };
  needed(apiGroups, "apiGroups", "api group", "api groups");
  needed(resources, "resources", "resource", "resources");
  if (namespaces.length === 0 && !clusterScope) {
    const why = "resource rules that are not cluster scoped must supply at least one namespace";
    errors.push(required(`${path}.namespaces`, why));
  } else if (namespaces.includes("*")) {
    errors.push(...alone(namespaces, `${path}.namespaces`, "namespaces"));
  } else {
    for (const [i, namespace] of namespaces.entries()) {
      const why = "each member of this list must be '*' or a DNS-1123 label; ";
      errors.push(...dnsLabel(namespace).map((one) => invalidField(`${path}.namespaces[${i}]`, namespace, why + one)));
    }
  }
  return errors;
}

function validateNonResourceRule({ verbs: asked, nonResourceURLs: urls = [] }: NonResourceRule, path: string) {
  const errors = validateVerbs(asked, `${path}.verbs`);
  const at = `${path}.nonResourceURLs`;
  if (urls.length === 0) return [...errors, required(at, "nonResourceURLs must contain at least one value")];
  if (urls.includes("*")) return [...errors, ...alone(urls, at, "non-resource URLs")];
  return [
    ...errors,
    ...urls.flatMap((url, i) => {
      const why = urlError(url);
      return why === undefined ? [] : [invalidField(`${at}[${i}]`, url, why)];
    }),
  ];
}

function urlError(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (url === "/") return undefined;
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const stars = url.split("*").length - 1;
  return stars > 1 || (stars === 1 && !url.endsWith("/*")) ? "wildcard can only do suffix matching" : undefined;
}
