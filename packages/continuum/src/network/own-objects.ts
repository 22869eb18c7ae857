import type { Kind, KubeObject } from "@fjord/base";
import { type Cache, compareResourceVersions, ifNotFound, type KubeClient, sameContent } from "@fjord/kube";

/** What the kinds that are kept here have. */
interface Kept extends KubeObject {
  readonly spec: object;
  readonly status?: object;
}

const FIELD_MANAGER = "fjord-network";

/** Objects that only this process writes, as they are after its last write, though the cache may not have heard of it. */
export class OwnObjects<T extends Kept> {
  readonly #client: KubeClient;
  readonly #kind: Kind<T>;
  readonly #cache: Cache<T>;
  readonly #written = new Map<string, T>();
  /** Uids by name. */
  readonly #removed = new Map<string, string>();

  constructor(client: KubeClient, kind: Kind<T>, cache: Cache<T>) {
    this.#client = client;
    this.#kind = kind;
    this.#cache = cache;
  }

  get(name: string): T | undefined {
    const cached = this.#cache.get({ name });
    const written = this.#written.get(name);
    if (written === undefined) {
      if (cached !== undefined && this.#removed.get(name) === cached.metadata.uid) return undefined;
      this.#removed.delete(name);
      return cached;
    }
    const isNewer =
      cached !== undefined &&
      (compareResourceVersions(cached.metadata.resourceVersion ?? "", written.metadata.resourceVersion ?? "") ?? 1) >=
        0;
    if (!isNewer) return written;
    this.#written.delete(name);
    return cached;
  }

  names(): string[] {
    const names = [...this.#cache.list().map(({ metadata }) => metadata.name ?? ""), ...this.#written.keys()];
    return [...new Set(names)].filter((name) => this.get(name) !== undefined);
  }

  /** Sees to it that the object says this. */
  async keep(name: string, spec: T["spec"], signal: AbortSignal): Promise<T> {
    const found = this.get(name);
    if (found !== undefined && sameContent(found.spec, spec)) return found;
    const options = { fieldManager: FIELD_MANAGER, signal };
    const { group, version, kind } = this.#kind;
    const written =
      found === undefined
        ? await this.#client.create(
            this.#kind,
            { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec } as unknown as T,
            options,
          )
        : await this.#replaceSpec(found, spec, signal);
    this.#written.set(name, written);
    this.#removed.delete(name);
    return written;
  }

  async say(object: T, status: NonNullable<T["status"]>, signal: AbortSignal): Promise<void> {
    if (sameContent(object.status, status)) return;
    const name = object.metadata.name ?? "";
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, signal };
    this.#written.set(name, await this.#client.patch(this.#kind, { name }, "merge", { status }, options));
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    const found = this.get(name);
    if (found === undefined) return;
    const { uid = "" } = found.metadata;
    await this.#client.delete(this.#kind, { name }, { preconditions: { uid }, signal }).catch(ifNotFound);
    this.#written.delete(name);
    this.#removed.set(name, uid);
  }

  /** Whoever has changed it meanwhile has the last word until it is looked at again. */
  #replaceSpec({ metadata }: T, spec: T["spec"], signal: AbortSignal): Promise<T> {
    const patch = [
      { op: "test", path: "/metadata/uid", value: metadata.uid },
      { op: "replace", path: "/spec", value: spec },
    ];
    const key = { name: metadata.name ?? "" };
    return this.#client.patch<T>(this.#kind, key, "json", patch, { fieldManager: FIELD_MANAGER, signal });
  }
}
