import { isDeepStrictEqual } from "node:util";
import { describeError, type KubeObject } from "@fjord/base";
import { type ClusterRole, matchesSelector } from "@fjord/kube";
import type { Cluster } from "../cluster.ts";
import { findAll, typeOf } from "../cluster-objects.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { RBAC_GROUP } from "./role-index.ts";

/**
 * Keeps the rules of ClusterRoles with an aggregationRule what those that they select say. Returns what ends it. It is
 * part of the server, because the roles `admin`, `edit` and `view` are of no use without it.
 */
export function followRoleAggregation(cluster: Cluster): () => void {
  let cancel: (() => void) | undefined;
  let hasEnded = false;
  const gather = async () => {
    cancel = undefined;
    const type = typeOf(cluster, RBAC_GROUP, "ClusterRole");
    for (const { name, rules } of staleRoles(findAll<ClusterRole>(cluster, "ClusterRole", undefined, RBAC_GROUP))) {
      const change = (object: KubeObject) => ({ ...object, rules });
      try {
        await cluster.modify(type, "", name, change, { fieldManager: "clusterrole-aggregation-controller" });
      } catch (error) {
        cluster.logger.warn("cannot gather the rules of a ClusterRole", { name, error: describeError(error) });
      }
    }
  };
  const end = cluster.follow(typeOf(cluster, RBAC_GROUP, "ClusterRole"), () => {
    // Many come at once, at the start above all: they are looked at together.
    if (!hasEnded) cancel ??= cluster.clock.after(0, () => void gather());
  });
  return () => {
    hasEnded = true;
    cancel?.();
    end();
  };
}

/** Roles whose rules are not what they should be, with those that should. */
export function staleRoles(roles: readonly ClusterRole[]): { name: string; rules: PolicyRule[] }[] {
  const sorted = roles.toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  return sorted
    .filter(({ aggregationRule }) => aggregationRule !== undefined)
    .map((role) => ({ role, name: role.metadata.name ?? "", rules: gatheredRules(role, sorted) }))
    .filter(({ role, rules }) => !isDeepStrictEqual(role.rules ?? [], rules))
    .map(({ name, rules }) => ({ name, rules }));
}

function gatheredRules({ metadata, aggregationRule }: ClusterRole, sorted: readonly ClusterRole[]): PolicyRule[] {
  const gathered = new Map<string, PolicyRule>();
  for (const selector of aggregationRule?.clusterRoleSelectors ?? []) {
    for (const role of sorted) {
      if (role.metadata.name === metadata.name) continue;
      if (!matchesSelector(selector as Parameters<typeof matchesSelector>[0], role.metadata.labels)) continue;
      for (const rule of role.rules ?? []) {
        const key = JSON.stringify(rule);
        if (!gathered.has(key)) gathered.set(key, rule);
      }
    }
  }
  return [...gathered.values()];
}
