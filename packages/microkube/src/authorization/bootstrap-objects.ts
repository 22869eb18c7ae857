import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { KubeObject } from "@fjord/base";
import type { ClusterRole, ClusterRoleBinding } from "@fjord/kube";
import type { Cluster } from "../cluster.ts";
import { dataFile } from "../data-file.ts";
import { missingRules, type PolicyRule } from "./policy-rule.ts";

/** Roles, bindings, priority classes and rules of flow control that every cluster begins with, from the generated file. */
export function bootstrapObjects(): KubeObject[] {
  const file = dataFile("bootstrap-objects.gz");
  return JSON.parse(gunzipSync(readFileSync(file)).toString("utf8"));
}

/**
 * Makes what is missing, and gives back to roles and bindings what was taken from them, unless their annotation
 * `rbac.authorization.kubernetes.io/autoupdate` is "false". The namespaces kube-system and kube-public must be there.
 */
export async function ensureBootstrapObjects(cluster: Cluster, wanted = bootstrapObjects()): Promise<void> {
  // All at once: what is written in one turn of the event loop is one transaction.
  await Promise.all(wanted.map((object) => ensure(cluster, object)));
}

async function ensure(cluster: Cluster, wanted: KubeObject): Promise<void> {
  const [group = ""] = wanted.apiVersion.includes("/") ? wanted.apiVersion.split("/") : [""];
  const type = cluster.types.ofKind(group, wanted.kind);
  if (type === undefined) return;
  const { name = "", namespace = "" } = wanted.metadata;
  const current = cluster.get(type, namespace, name);
  if (current === undefined) {
    await cluster.create(type, namespace, structuredClone(wanted));
    return;
  }
  if (reconciled(current, wanted) === undefined) return;
  await cluster.modify(type, namespace, name, (object) => reconciled(object, wanted));
}

interface Reconcilable extends KubeObject {
  rules?: PolicyRule[];
  aggregationRule?: ClusterRole["aggregationRule"];
  subjects?: ClusterRoleBinding["subjects"];
}

/** The object with what it lacks; undefined where it lacks nothing. What was added by others stays. */
export function reconciled(current: KubeObject, wanted: KubeObject): KubeObject | undefined {
  if (current.metadata.annotations?.["rbac.authorization.kubernetes.io/autoupdate"] === "false") return undefined;
  const { rules = [], aggregationRule, subjects = [], ...rest } = current as Reconcilable;
  const want = wanted as Reconcilable;
  const isGathered = want.aggregationRule !== undefined;
  const missing = isGathered ? [] : missingRules(rules, want.rules ?? []);
  const isSame = (a: NonNullable<Reconcilable["subjects"]>[number], b: typeof a) =>
    a.kind === b.kind && a.name === b.name && (a.namespace ?? "") === (b.namespace ?? "");
  const absent = (want.subjects ?? []).filter((subject) => !subjects.some((one) => isSame(one, subject)));
  const losesRule = isGathered && (aggregationRule?.clusterRoleSelectors ?? []).length === 0;
  if (missing.length + absent.length === 0 && !losesRule) return undefined;
  const gathering = losesRule ? want.aggregationRule : aggregationRule;
  return {
    ...rest,
    ...(gathering && { aggregationRule: gathering }),
    ...((rules.length > 0 || missing.length > 0) && { rules: [...rules, ...missing] }),
    ...((subjects.length > 0 || absent.length > 0) && { subjects: [...subjects, ...absent] }),
  } as KubeObject;
}
