import type { KubeObject } from "@fjord/base";
import type { Cluster } from "./cluster.ts";
import type { ResourceType } from "./kinds/resource-type.ts";

/** A built-in type by its kind; throws where the control plane was composed without it. */
export function typeOf(cluster: Cluster, group: string, kind: string): ResourceType {
  const type = cluster.types.ofKind(group, kind);
  if (type === undefined) throw new Error(`no resource is of kind ${kind} in group "${group}"`);
  return type;
}

/** The current object, shared and frozen; undefined where there is none. `T` is what the caller knows it to be. */
export function find<T extends KubeObject>(
  cluster: Cluster,
  kind: string,
  namespace: string,
  name: string,
  group = "",
): T | undefined {
  return cluster.get(typeOf(cluster, group, kind), namespace, name) as T | undefined;
}

/** All current objects of a kind, shared and frozen. */
export function findAll<T extends KubeObject>(
  cluster: Cluster,
  kind: string,
  namespace?: string,
  group = "",
): readonly T[] {
  return cluster.list(typeOf(cluster, group, kind), namespace) as readonly T[];
}
