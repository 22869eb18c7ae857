import { type Clock, describeError, type KubeObject, type Logger, type Random } from "@fjord/base";
import type { AdmissionPlugin } from "../admission/admission.ts";
import { type CallOptions, type Cluster, type DeleteCallOptions, SYSTEM } from "../cluster.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import { Pace } from "../pace.ts";
import type { Patches } from "../patch/patch.ts";
import type { Schema } from "../schema/schema.ts";
import { notFound, StatusError } from "../status-error.ts";
import type { Store, StoredObject, StoreEvent } from "../store/store.ts";
import { type Change, changeObject } from "./change.ts";
import { copyOf } from "./copy.ts";
import { createObject } from "./creation.ts";
import { type Deleted, type DeleteOptions, deleteObject } from "./deletion.ts";
import { type ListPage, type ListQuery, listObjects } from "./listing.ts";
import { keyFor, type Operation, prefixFor, type RegistryMeans, type Written } from "./operation.ts";
import type { ServedTypes } from "./served-types.ts";
import { applyAllDefaults, hasDefaults } from "./versions.ts";

export interface RegistryOptions {
  readonly store: Store;
  readonly types: ServedTypes;
  /** In the order that they are asked in. */
  readonly plugins?: readonly AdmissionPlugin[];
  readonly patches?: Patches;
  /** @default nothing is filled in */
  readonly applyDefaults?: (object: KubeObject, schema: Schema) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** All rules of objects above the store: each write, from outside or inside, goes through it. */
export class Registry implements Cluster, RegistryMeans {
  readonly store: Store;
  readonly types: ServedTypes;
  readonly plugins: readonly AdmissionPlugin[];
  readonly patches: Patches | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly #applyDefaults: (object: KubeObject, schema: Schema) => void;
  /** What was parsed of late: objects may be asked for again and again, but most never are. */
  readonly #parsed = new WeakMap<StoredObject, WeakRef<KubeObject>>();

  /** The revision at which a custom type, as it is now, was first looked at; 0: its schema fills nothing in. */
  readonly #servedSince = new WeakMap<ResourceType, number>();

  constructor({ store, types, plugins = [], patches, applyDefaults, clock, random, logger }: RegistryOptions) {
    this.store = store;
    this.types = types;
    this.plugins = plugins;
    this.patches = patches;
    this.#applyDefaults = applyDefaults ?? (() => {});
    this.clock = clock;
    this.random = random;
    this.logger = logger;
  }

  get cluster(): Cluster {
    return this;
  }

  applyDefaults(object: KubeObject, schema: Schema): void {
    this.#applyDefaults(object, schema);
  }

  isCustom(type: ResourceType): boolean {
    return this.types.isCustom(type);
  }

  /** What was sent, with what it left to defaults. */
  defaulted(operation: Operation, sent: KubeObject): KubeObject {
    const object = copyOf(sent);
    applyAllDefaults(this, operation, object);
    return object;
  }

  createObject(operation: Operation, sent: KubeObject): Promise<Written> {
    return createObject(this, operation, sent);
  }

  changeObject(operation: Operation, change: Change): Promise<Written> {
    return changeObject(this, operation, change);
  }

  deleteObject(operation: Operation, name: string, options: DeleteOptions): Promise<Deleted> {
    return deleteObject(this, operation, name, options);
  }

  listObjects(query: ListQuery): Promise<ListPage> {
    return listObjects(this.store, query);
  }

  stored(type: ResourceType, namespace: string, name: string): StoredObject | undefined {
    return this.store.get(keyFor(type, namespace, name));
  }

  get(type: ResourceType, namespace: string, name: string): KubeObject | undefined {
    const found = this.stored(type, namespace, name);
    return found && this.read(type, found);
  }

  list(type: ResourceType, namespace?: string): readonly KubeObject[] {
    return this.store.list(prefixFor(type, namespace ?? "")).items.map((stored) => this.read(type, stored));
  }

  async create(
    type: ResourceType,
    namespace: string,
    object: KubeObject,
    options: CallOptions = {},
  ): Promise<KubeObject> {
    const { object: made } = await this.createObject(operationOf(type, namespace, options), copyOf(object));
    return made;
  }

  async modify(
    type: ResourceType,
    namespace: string,
    name: string,
    change: (object: KubeObject) => KubeObject | undefined,
    options: CallOptions = {},
  ): Promise<KubeObject | undefined> {
    try {
      const { object } = await this.changeObject(operationOf(type, namespace, options), {
        name,
        createsIfMissing: false,
        managed: options.ownsNothing ?? false,
        next(old) {
          const next = change(old as KubeObject);
          if (next === undefined) throw new Unchanged();
          return next;
        },
      });
      return object;
    } catch (error) {
      if (error instanceof Unchanged) return undefined;
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }

  async delete(type: ResourceType, namespace: string, name: string, options: DeleteCallOptions = {}): Promise<void> {
    const { uid, deleteOptions = {} } = options;
    const { preconditions } = deleteOptions;
    const how = uid === undefined ? deleteOptions : { ...deleteOptions, preconditions: { ...preconditions, uid } };
    const sent = { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...how };
    await this.deleteObject({ ...operationOf(type, namespace, options), options: sent }, name, how);
  }

  follow(type: ResourceType, listener: (event: { type: StoreEvent["type"]; object: KubeObject }) => void): () => void {
    const tell = (event: { type: StoreEvent["type"]; object: StoredObject }) => {
      try {
        listener({ type: event.type, object: this.read(type, event.object) });
      } catch (error) {
        this.logger.error("a follower of objects has failed", { kind: type.kind, error: describeError(error) });
      }
    };
    const { items, revision } = this.store.list(prefixFor(type));
    for (const object of items) tell({ type: "ADDED", object });
    return this.store.watch(prefixFor(type), revision, tell);
  }

  parse(stored: StoredObject): KubeObject {
    const known = this.#parsed.get(stored)?.deref();
    if (known !== undefined) return known;
    const object = deepFreeze(JSON.parse(stored.json) as KubeObject);
    this.#parsed.set(stored, new WeakRef(object));
    return object;
  }

  /** Throws where it is not there. */
  require(type: ResourceType, namespace: string, name: string): StoredObject {
    const found = this.stored(type, namespace, name);
    if (found === undefined) throw notFound(type, name);
    return found;
  }

  read(type: ResourceType, stored: StoredObject): KubeObject {
    const object = this.parse(stored);
    const { storedAs } = type;
    if (storedAs !== undefined) return deepFreeze(storedAs.fromStored(copyOf(object)));
    if (!this.lacksDefaults(type, stored)) return object;
    const filled = copyOf(object);
    this.#applyDefaults(filled, type.schema(object.apiVersion.split("/").at(-1) ?? "") ?? {});
    return deepFreeze(filled);
  }

  /** Whether an object may be from before its schema was as it is now: definitions of custom resources change. */
  lacksDefaults(type: ResourceType, { revision }: StoredObject): boolean {
    if (!this.isCustom(type)) return false;
    let since = this.#servedSince.get(type);
    if (since === undefined) {
      const schema = type.schema(type.version);
      since = schema !== undefined && hasDefaults(schema) ? this.store.revision : 0;
      this.#servedSince.set(type, since);
    }
    return revision <= since;
  }
}

class Unchanged extends Error {}

function operationOf(type: ResourceType, namespace: string, options: CallOptions): Operation {
  const { caller = SYSTEM, dryRun = false, fieldManager = "kube-apiserver", subresource = "" } = options;
  const { version } = type;
  const how = { options: {}, warn: () => {}, pace: new Pace() };
  return { type, version, namespace, subresource, caller, dryRun, fieldManager, ...how };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const one of Object.values(value)) deepFreeze(one);
  return Object.freeze(value);
}
