import type { ResourceTypes } from "../cluster.ts";
import type { ResourceType } from "../kinds/resource-type.ts";

/** The resources that are served: built-in ones for good, custom ones as they come and go. */
export class ServedTypes implements ResourceTypes {
  /** Those that were there from the start. */
  readonly #builtIn: ReadonlySet<ResourceType>;
  readonly #types = new Set<ResourceType>();
  readonly #byPath = new Map<string, ResourceType>();
  readonly #byKind = new Map<string, ResourceType>();
  readonly #listeners = new Set<() => void>();
  #list: readonly ResourceType[] | undefined;

  constructor(types: Iterable<ResourceType> = []) {
    for (const type of types) this.#put(type);
    this.#builtIn = new Set(this.#types);
  }

  /** Whether it came by a CustomResourceDefinition. */
  isCustom(type: ResourceType): boolean {
    return !this.#builtIn.has(type);
  }

  find(group: string, version: string, plural: string): ResourceType | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  ofKind(group: string, kind: string): ResourceType | undefined {
    return this.#byKind.get(`${group}/${kind}`);
  }

  list(): readonly ResourceType[] {
    this.#list ??= [...this.#types];
    return this.#list;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Serves a type, in place of what has its group and resource. */
  add(type: ResourceType): void {
    this.#drop(type.group, type.plural);
    this.#put(type);
    this.#changed();
  }

  remove(group: string, plural: string): void {
    if (this.#drop(group, plural)) this.#changed();
  }

  #put(type: ResourceType): void {
    this.#types.add(type);
    for (const version of type.versions) this.#byPath.set(`${type.group}/${version}/${type.plural}`, type);
    if (!this.#byKind.has(`${type.group}/${type.kind}`)) this.#byKind.set(`${type.group}/${type.kind}`, type);
    this.#list = undefined;
  }

  #drop(group: string, plural: string): boolean {
    const old = [...this.#types].find((type) => type.group === group && type.plural === plural);
    if (old === undefined) return false;
    this.#types.delete(old);
    for (const version of old.versions) this.#byPath.delete(`${group}/${version}/${plural}`);
    if (this.#byKind.get(`${group}/${old.kind}`) === old) this.#byKind.delete(`${group}/${old.kind}`);
    this.#list = undefined;
    return true;
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
