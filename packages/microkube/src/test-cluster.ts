import type { KubeObject } from "@fjord/base";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Cluster, ResourceTypes } from "./cluster.ts";
import type { ResourceType } from "./kinds/resource-type.ts";
import { builtInResources } from "./schema/index.ts";
import { notFound } from "./status-error.ts";

type Listener = Parameters<Cluster["follow"]>[1];

/** A cluster without rules, for tests of what reads one: whatever is put into it is there at once. */
export class TestCluster implements Cluster {
  readonly clock = new ManualClock();
  readonly random = () => 0.5;
  readonly logger = silentLogger;
  readonly types: ResourceTypes;
  readonly #objects = new Map<ResourceType, Map<string, KubeObject>>();
  readonly #listeners = new Map<ResourceType, Set<Listener>>();
  #revision = 0;

  constructor() {
    const all = builtInResources().map(
      ({ verbs: _, subresources: __, ...resource }): ResourceType => ({
        ...resource,
        versions: [resource.version],
        schema: () => undefined,
        strategy: {},
        subresources: {},
      }),
    );
    this.types = {
      find: (group, version, plural) =>
        all.find((type) => type.group === group && type.version === version && type.plural === plural),
      ofKind: (group, kind) => all.find((type) => type.group === group && type.kind === kind),
      list: () => all,
      onChange: () => () => {},
    };
  }

  /** Adds or replaces; the type is found by the object's kind. Gives it a uid and a resource version. */
  put<T extends KubeObject>(object: T): T {
    const type = this.typeOf(object);
    const { namespace = "", name = "" } = object.metadata;
    const old = this.get(type, namespace, name);
    const metadata = { uid: old?.metadata.uid ?? `uid-${name}`, ...object.metadata };
    metadata.resourceVersion = String(++this.#revision);
    const stored = deepFreeze({ ...structuredClone(object), metadata });
    this.#of(type).set(`${namespace}/${name}`, stored);
    this.#tell(type, { type: old === undefined ? "ADDED" : "MODIFIED", object: stored });
    return stored;
  }

  remove(object: KubeObject): void {
    const type = this.typeOf(object);
    const key = `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
    const old = this.#of(type).get(key);
    if (old === undefined) return;
    this.#of(type).delete(key);
    this.#tell(type, { type: "DELETED", object: old });
  }

  typeOf({ apiVersion, kind }: KubeObject): ResourceType {
    const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
    const type = this.types.ofKind(group, kind);
    if (type === undefined) throw new Error(`no ${kind} in "${group}"`);
    return type;
  }

  get(type: ResourceType, namespace: string, name: string): KubeObject | undefined {
    return this.#of(type).get(`${namespace}/${name}`);
  }

  list(type: ResourceType, namespace?: string): readonly KubeObject[] {
    const all = [...this.#of(type).values()];
    return namespace === undefined ? all : all.filter(({ metadata }) => (metadata.namespace ?? "") === namespace);
  }

  async create(_type: ResourceType, namespace: string, object: KubeObject): Promise<KubeObject> {
    const metadata = { ...object.metadata, ...(namespace !== "" && { namespace }) };
    return this.put({ ...object, metadata });
  }

  async modify(
    type: ResourceType,
    namespace: string,
    name: string,
    change: (object: KubeObject) => KubeObject | undefined,
  ): Promise<KubeObject | undefined> {
    const current = this.get(type, namespace, name);
    if (current === undefined) throw notFound(type, name);
    const next = change(structuredClone(current));
    return next === undefined ? current : this.put(next);
  }

  async delete(type: ResourceType, namespace: string, name: string): Promise<void> {
    const current = this.get(type, namespace, name);
    if (current === undefined) throw notFound(type, name);
    this.remove(current);
  }

  follow(type: ResourceType, listener: Listener): () => void {
    for (const object of this.list(type)) listener({ type: "ADDED", object });
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  parse({ json }: { json: string }): KubeObject {
    return JSON.parse(json);
  }

  #of(type: ResourceType): Map<string, KubeObject> {
    const objects = this.#objects.get(type) ?? new Map();
    this.#objects.set(type, objects);
    return objects;
  }

  #tell(type: ResourceType, event: Parameters<Listener>[0]): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const each of Object.values(value)) deepFreeze(each);
  return Object.freeze(value);
}
