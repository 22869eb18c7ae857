import type { KubeObject } from "@fjord/base";
import { apiVersionOf } from "@fjord/base";
import { resetFieldsFor } from "../patch/index.ts";
import type { FieldManager, ResetFields } from "../patch/patch.ts";
import { type Operation, type RegistryMeans, timestamp } from "./operation.ts";

/** As whom an operation owns fields. */
export function managerOf(means: RegistryMeans, operation: Operation): FieldManager {
  const { type, version, subresource, fieldManager } = operation;
  const apiVersion = apiVersionOf({ group: type.group, version });
  const time = timestamp(means.cluster.clock.now());
  return { name: fieldManager, apiVersion, time, ...(subresource !== "" && { subresource }) };
}

/** What a request through this path cannot set, and so cannot own. */
export function resetFieldsOf(means: RegistryMeans, { type, version, subresource }: Operation): ResetFields {
  if (!type.strategy.hasStatus) return [];
  const { group, kind } = type;
  return resetFieldsFor({ group, kind, isCustom: means.isCustom(type) }, subresource, type.schema(version));
}

/** The object with `managedFields` as they are after this write. */
export async function manage(
  means: RegistryMeans,
  operation: Operation,
  old: KubeObject | undefined,
  next: KubeObject,
): Promise<KubeObject> {
  const schema = operation.type.schema(operation.version);
  if (schema === undefined || means.patches === undefined) return next;
  const manager = managerOf(means, operation);
  const of = [old, next, schema, manager, resetFieldsOf(means, operation)] as const;
  const { pace } = operation;
  if (pace === undefined) return means.patches.updateManagedFields(...of);
  return pace.through(means.patches.slowly.updateManagedFields(...of));
}
