import type { KubeObject } from "@fjord/base";
import { apiVersionOf } from "@fjord/base";
import type { ResourceType } from "../kinds/resource-type.ts";
import type { Schema } from "../schema/schema.ts";
import { copyOf } from "./copy.ts";
import type { Operation, RegistryMeans } from "./operation.ts";

/** Whether what is stored is, letter by letter, what a request in this version sees. */
export function isPlain(type: ResourceType, version: string): boolean {
  return type.version === version && type.storedAs === undefined;
}

/** Fills in what the schema of the request's version and, where that is the stored one, the kind's code say. */
export function applyAllDefaults(means: RegistryMeans, { type, version }: Operation, object: KubeObject): void {
  const schema = type.schema(version);
  if (schema !== undefined) means.applyDefaults(object, schema);
  if (version === type.version) type.strategy.default?.(object);
}

/** An object as sent, in the version and the shape that is stored. */
export async function toStored(means: RegistryMeans, operation: Operation, object: KubeObject): Promise<KubeObject> {
  const { type, version } = operation;
  if (version === type.version) return object;
  const converted = await convert(type, object, type.version);
  applyAllDefaults(means, { ...operation, version: type.version }, converted);
  return converted;
}

/** What is stored, as a request in this version sees it. `stored` is not changed. */
export async function fromStored(type: ResourceType, stored: KubeObject, version: string): Promise<KubeObject> {
  if (type.read === undefined ? version === type.version : isOf(type, stored, version)) return stored;
  return convert(type, stored, version);
}

/** Custom resources may be from before their definition chose another version to keep them in. */
function isOf({ group }: ResourceType, { apiVersion }: KubeObject, version: string): boolean {
  return apiVersion === apiVersionOf({ group, version });
}

async function convert(type: ResourceType, object: KubeObject, version: string): Promise<KubeObject> {
  const apiVersion = apiVersionOf({ group: type.group, version });
  if (type.convert === undefined) return { ...object, apiVersion };
  return type.convert(copyOf(object), version);
}

/** Whether a schema fills in anything. */
export function hasDefaults(schema: Schema, seen = new Set<Schema>()): boolean {
  if (schema.default !== undefined) return true;
  if (seen.has(schema)) return false;
  seen.add(schema);
  const { properties = {}, items, additionalProperties } = schema;
  const parts = [...Object.values(properties), items, additionalProperties];
  return parts.some((part) => part !== undefined && hasDefaults(part, seen));
}
