import type { KubeObject } from "@fjord/base";
import type { ResourceQuota } from "@fjord/kube";
import type { ResourceType } from "../../kinds/resource-type.ts";
import type { AdmissionRequest } from "../admission.ts";
import { type Amounts, count } from "../amount.ts";
import { claimEvaluator } from "./claim-evaluator.ts";
import { podEvaluator } from "./pod-evaluator.ts";
import type { ScopeSelector } from "./scope.ts";
import { serviceEvaluator } from "./service-evaluator.ts";

/** What quotas count of one kind. */
export interface QuotaEvaluator {
  /** Whether the request may change what is used. */
  handles(request: Pick<AdmissionRequest, "operation" | "subresource" | "object" | "old">): boolean;
  /** Those of the names that quotas limit which this kind uses something of. */
  counts(names: readonly string[]): string[];
  /** What the object uses. `now` because what is long gone, and still there, uses nothing. */
  usage(object: KubeObject, now: number): Amounts;
  /** Why the object cannot be counted; undefined where it can. */
  problem?(counted: readonly string[], object: KubeObject): string | undefined;
  /** @default no object is in any scope */
  inScope?(selector: ScopeSelector, object: KubeObject): boolean;
}

/** Things that are never counted: nothing of them is kept, or too much comes and goes. */
const ignored = [
  "/bindings",
  "/componentstatuses",
  "authentication.k8s.io/tokenreviews",
  "authentication.k8s.io/selfsubjectreviews",
  "authorization.k8s.io/subjectaccessreviews",
  "authorization.k8s.io/selfsubjectaccessreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectrulesreviews",
  "/events",
  "events.k8s.io/events",
];

/** Kinds that could be limited before all could, by their bare names. */
const aliases = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/** How objects of a resource are counted; undefined: they are not. */
export function quotaEvaluator({ group, plural }: Pick<ResourceType, "group" | "plural">): QuotaEvaluator | undefined {
  if (ignored.includes(`${group}/${plural}`)) return undefined;
  if (group === "" && plural === "pods") return podEvaluator;
  if (group === "" && plural === "services") return serviceEvaluator;
  if (group === "" && plural === "persistentvolumeclaims") return claimEvaluator;
  const own = [`count/${group === "" ? plural : `${plural}.${group}`}`];
  if (group === "" && aliases.includes(plural)) own.push(plural);
  const usage = new Map(own.map((name) => [name, count(1)]));
  return {
    handles: ({ operation, subresource }) => operation === "CREATE" && subresource === "",
    counts: (names) => names.filter((name) => own.includes(name)),
    usage: () => usage,
  };
}

/** The scopes of a quota, in whichever of the two ways they are given. */
export function scopesOf({ spec }: ResourceQuota): ScopeSelector[] {
  const plain = (spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" }));
  return [...plain, ...((spec?.scopeSelector?.matchExpressions ?? []) as ScopeSelector[])];
}

/** Whether the quota limits something that the object uses. */
export function quotaMatches(quota: ResourceQuota, evaluator: QuotaEvaluator, object: KubeObject): boolean {
  if (evaluator.counts(Object.keys(quota.status?.hard ?? {})).length === 0) return false;
  return scopesOf(quota).every((scope) => evaluator.inScope?.(scope, object) ?? false);
}
