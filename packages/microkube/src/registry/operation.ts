import type { KubeObject } from "@fjord/base";
import type { AdmissionPlugin } from "../admission/admission.ts";
import type { Caller, Cluster } from "../cluster.ts";
import type { ResourceType, WriteContext } from "../kinds/resource-type.ts";
import type { Pace } from "../pace.ts";
import type { Patches } from "../patch/patch.ts";
import type { Schema } from "../schema/schema.ts";
import { keyOf, prefixOf, type Store, type StoredObject } from "../store/store.ts";

/** What a write is, whoever asks for it. */
export interface Operation {
  readonly type: ResourceType;
  /** The version of the request. */
  readonly version: string;
  /** Empty for what is in none. */
  readonly namespace: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly caller: Caller;
  readonly dryRun: boolean;
  /** Who is to own the fields that are written. */
  readonly fieldManager: string;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as sent. */
  readonly options: Record<string, unknown>;
  warn(text: string): void;
  /** So that a large object does not hold up everybody else. */
  readonly pace?: Pace;
}

/** What the write path works with. */
export interface RegistryMeans {
  readonly cluster: Cluster;
  readonly store: Store;
  readonly plugins: readonly AdmissionPlugin[];
  readonly patches: Patches | undefined;
  /** Fills in what the schema says. */
  applyDefaults(object: KubeObject, schema: Schema): void;
  /** What is stored, as objects of the type: shared and frozen. */
  read(type: ResourceType, stored: StoredObject): KubeObject;
  /** Whether the type came by a CustomResourceDefinition. */
  isCustom(type: ResourceType): boolean;
}

/** What became of a write. */
export interface Written {
  /** In the version that is stored. */
  readonly object: KubeObject;
  /** Absent for dry runs, and for what is gone. */
  readonly stored?: StoredObject;
  readonly created: boolean;
}

export function contextOf(means: RegistryMeans, operation: Operation): WriteContext {
  const { caller, namespace, dryRun } = operation;
  return { cluster: means.cluster, caller, namespace, dryRun, warn: (text) => operation.warn(text) };
}

/** Where the objects of a type are kept. */
export function placeOf(type: ResourceType): { group: string; plural: string } {
  return type.storedAs ?? type;
}

export function keyFor(type: ResourceType, namespace: string, name: string): string {
  return keyOf(placeOf(type), type.namespaced ? namespace : "", name);
}

export function prefixFor(type: ResourceType, namespace?: string): string {
  return prefixOf(placeOf(type), type.namespaced && namespace !== "" ? namespace : undefined);
}

/** RFC 3339, in seconds. */
export function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
