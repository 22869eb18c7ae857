import type { KubeObject } from "@fjord/base";
import { type LabelSelector, matchesSelector, type Namespace } from "@fjord/kube";
import { find } from "../../cluster-objects.ts";
import { notFound } from "../../status-error.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { Webhook } from "./webhook.ts";

type Rule = NonNullable<Webhook["hook"]["rules"]>[number];

const exempt = [
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
];

/** What configures admission is not subject to it: else nobody could mend a mistake. */
export function isExempt({ type }: AdmissionRequest): boolean {
  return type.group === "admissionregistration.k8s.io" && exempt.includes(type.kind);
}

/** The version that the webhook is to be called with; undefined: it is not to be called. */
export function versionFor({ hook }: Webhook, request: AdmissionRequest): string | undefined {
  const { rules = [], matchPolicy = "Equivalent", namespaceSelector, objectSelector } = hook;
  // The rules first: they are cheap, and most webhooks are for few resources.
  const version = matchingVersion(rules, request, matchPolicy);
  if (version === undefined) return undefined;
  if (!selectsNamespace(namespaceSelector as LabelSelector | undefined, request)) return undefined;
  return selectsObject(objectSelector as LabelSelector | undefined, request) ? version : undefined;
}

function matchingVersion(rules: readonly Rule[], request: AdmissionRequest, policy: string): string | undefined {
  if (rules.some((rule) => ruleMatches(rule, request, request.version))) return request.version;
  if (policy !== "Equivalent") return undefined;
  const others = request.type.versions.filter((version) => version !== request.version);
  for (const rule of rules) {
    const found = others.find((version) => ruleMatches(rule, request, version));
    if (found !== undefined) return found;
  }
  return undefined;
}

export function ruleMatches(rule: Rule, request: AdmissionRequest, version: string): boolean {
  const { apiGroups = [], apiVersions = [], operations = [], resources = [], scope = "*" } = rule;
  const { type, operation, subresource, namespace } = request;
  const holds = (of: readonly string[], value: string) => of.includes("*") || of.includes(value);
  const isNamespaced = namespace !== "" && !(type.group === "" && type.plural === "namespaces");
  if (scope !== "*" && (scope === "Namespaced") !== isNamespaced) return false;
  if (!holds(operations, operation) || !holds(apiGroups, type.group) || !holds(apiVersions, version)) return false;
  return resources.some((one) => {
    const [plural, sub = ""] = one.split(/\/(.*)/s);
    return (plural === "*" || plural === type.plural) && (sub === "*" || sub === subresource);
  });
}

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector) =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;

/** Also policies select so. */
export function selectsNamespace(selector: LabelSelector | undefined, request: AdmissionRequest): boolean {
  const { type, namespace, operation, object, subresource, cluster } = request;
  const isNamespace = type.group === "" && type.plural === "namespaces";
  if (selector === undefined || isEmpty(selector) || (namespace === "" && !isNamespace)) return true;
  const isWritten = isNamespace && subresource === "" && (operation === "CREATE" || operation === "UPDATE");
  const found = isWritten ? object : find<Namespace>(cluster, "Namespace", "", namespace);
  if (found === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  return matchesSelector(selector, found.metadata.labels);
}

/** Either what was or what will be has to match. */
export function selectsObject(selector: LabelSelector | undefined, { object, old }: AdmissionRequest): boolean {
  if (selector === undefined || isEmpty(selector)) return true;
  const matches = (one: KubeObject | undefined) => one?.metadata && matchesSelector(selector, one.metadata.labels);
  return Boolean(matches(object) || matches(old));
}
