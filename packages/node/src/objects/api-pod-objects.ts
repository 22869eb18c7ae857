import { type Clock, describeError, type Kind, type KubeObject, type Logger, type Random, sleep } from "@fjord/base";
import {
  ConfigMap,
  ConnectionError,
  isNotFound,
  type KubeClient,
  PersistentVolume,
  PersistentVolumeClaim,
  type Pod,
  RuntimeClass,
  Secret,
  Service,
  trimManagedFields,
} from "@fjord/kube";
import type { NodeStore, StoredKey } from "../store/node-store.ts";
import { ObjectUnknown } from "./errors.ts";
import { type FollowedObject, pollObject, watchObject } from "./followed-object.ts";
import { MirroredList } from "./mirrored-list.ts";
import { Patience } from "./patience.ts";
import type { BoundToken, PodObjects, TokenRequestSpec } from "./pod-objects.ts";
import { podReferences } from "./pod-references.ts";
import { pruneStore } from "./prune-store.ts";
import { StoreWriter } from "./store-writer.ts";
import { TokenSource } from "./token-source.ts";
import { trimService } from "./trim-service.ts";

export interface ApiPodObjectsOptions {
  readonly client: Pick<KubeClient, "get" | "list" | "watch" | "createToken">;
  readonly store: NodeStore;
  /** How long the API has to answer before the store does. @default 2000 */
  readonly answerMs?: number;
  /** How many objects are watched, over a connection each; more are read once a minute instead. @default 30 */
  readonly watches?: number;
  /** @default 60000 */
  readonly pollMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Entry {
  readonly key: StoredKey;
  readonly pods: Set<string>;
  readonly object: FollowedObject<KubeObject>;
  readonly watched: boolean;
}

const PRUNE_MS = 3_600_000;
/** Only until the claim is bound. */
const CLAIM_POLL_MS = 3_000;

interface Way {
  readonly kind: Kind;
  /** Nodes may read claims, but not watch them. */
  readonly watchable: boolean;
  readonly settled: (object: KubeObject) => boolean;
}

const isImmutable = (object: KubeObject) => (object as ConfigMap | Secret).immutable === true;
const ways: Readonly<Record<string, Way>> = {
  ConfigMap: { kind: ConfigMap, watchable: true, settled: isImmutable },
  Secret: { kind: Secret, watchable: true, settled: isImmutable },
  PersistentVolumeClaim: {
    kind: PersistentVolumeClaim,
    watchable: false,
    settled: (object) => (object as PersistentVolumeClaim).status?.phase === "Bound",
  },
};

/** Objects of pods from the API, mirrored into the store, in the ways that the node authorizer allows a node. */
export class ApiPodObjects implements PodObjects {
  readonly #options: Required<ApiPodObjectsOptions>;
  readonly #entries = new Map<string, Entry>();
  readonly #podKeys = new Map<string, readonly StoredKey[]>();
  readonly #listeners = new Set<(podUid: string) => void>();
  readonly #writer: StoreWriter;
  readonly #patience: Patience;
  readonly #tokens: TokenSource;
  readonly #services: MirroredList<Service>;
  readonly #runtimeClasses: MirroredList<RuntimeClass>;
  readonly #stopping = new Set<Promise<void>>();
  #watched = 0;
  #closed = false;

  constructor(options: ApiPodObjectsOptions) {
    this.#options = { answerMs: 2_000, watches: 30, pollMs: 60_000, ...options };
    this.#writer = new StoreWriter(options.store);
    const { clock, answerMs } = this.#options;
    this.#patience = new Patience(clock, answerMs);
    this.#tokens = new TokenSource({ ...this.#options, patience: this.#patience });
    const lists = { ...this.#options, writer: this.#writer, patience: this.#patience };
    this.#services = new MirroredList({ ...lists, kind: Service, transform: trimService });
    this.#runtimeClasses = new MirroredList({ ...lists, kind: RuntimeClass, transform: trimManagedFields });
  }

  configMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap | undefined> {
    return this.#followed(ConfigMap, { kind: "ConfigMap", namespace, name }, signal);
  }

  secret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret | undefined> {
    return this.#followed(Secret, { kind: "Secret", namespace, name }, signal);
  }

  claim(namespace: string, name: string, signal?: AbortSignal): Promise<PersistentVolumeClaim | undefined> {
    return this.#followed(PersistentVolumeClaim, { kind: "PersistentVolumeClaim", namespace, name }, signal);
  }

  persistentVolume(name: string, signal?: AbortSignal): Promise<PersistentVolume | undefined> {
    return this.#fetch(PersistentVolume, { kind: "PersistentVolume", namespace: "", name }, signal);
  }

  runtimeClass(name: string, signal?: AbortSignal): Promise<RuntimeClass | undefined> {
    return this.#runtimeClasses.get(name, signal);
  }

  async services(namespace: string): Promise<readonly Service[]> {
    const own = await this.#services.list(namespace);
    if (namespace === "default") return own;
    const masters = (await this.#services.list("default")).filter(({ metadata }) => metadata.name === "kubernetes");
    return [...masters, ...own];
  }

  token(pod: Pod, request: TokenRequestSpec, signal?: AbortSignal): Promise<BoundToken> {
    return this.#tokens.get(pod, request, signal);
  }

  follow(pod: Pod): void {
    const { uid } = pod.metadata;
    if (uid === undefined || this.#closed) return;
    this.#services.start();
    const keys = podReferences(pod);
    const before = this.#podKeys.get(uid) ?? [];
    this.#podKeys.set(uid, keys);
    for (const key of keys) this.#refer(key, uid);
    const kept = new Set(keys.map(textOf));
    for (const key of before) if (!kept.has(textOf(key))) this.#release(key, uid);
  }

  forget(podUid: string): void {
    for (const key of this.#podKeys.get(podUid) ?? []) this.#release(key, podUid);
    this.#podKeys.delete(podUid);
    this.#tokens.forget(podUid);
  }

  onChange(listener: (podUid: string) => void): () => void {
    const own = (uid: string) => listener(uid);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Keeps the store tidy until `signal` aborts, then ends everything that was followed. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      pruneStore(this.#options.store);
      await sleep(this.#options.clock, PRUNE_MS, signal);
    }
    this.#closed = true;
    const entries = [...this.#entries.values()].map(({ object }) => object.stop());
    await Promise.all([...entries, ...this.#stopping, this.#services.stop(), this.#runtimeClasses.stop()]);
    this.#writer.close();
  }

  #refer(key: StoredKey, podUid: string): void {
    const known = this.#entries.get(textOf(key));
    // Whoever comes later expects what is there now, not what a pod before it was given.
    if (known !== undefined && !known.pods.has(podUid)) known.object.refresh();
    (known ?? this.#open(key)).pods.add(podUid);
  }

  #open(key: StoredKey): Entry {
    const { kind, watchable, settled } = ways[key.kind] as Way;
    const watched = watchable && this.#watched < this.#options.watches;
    if (watched) this.#watched++;
    const pods = new Set<string>();
    const { client, clock, random, logger } = this.#options;
    const pollMs = watchable ? this.#options.pollMs : CLAIM_POLL_MS;
    const changed = (object: KubeObject | undefined) => this.#changed(key, pods, object);
    const options = { client, kind, key, pollMs, settled, changed, clock, random, logger };
    const entry = { key, pods, watched, object: watched ? watchObject(options) : pollObject(options) };
    this.#entries.set(textOf(key), entry);
    return entry;
  }

  #release(key: StoredKey, podUid: string): void {
    const entry = this.#entries.get(textOf(key));
    if (entry === undefined) return;
    entry.pods.delete(podUid);
    if (entry.pods.size > 0) return;
    this.#entries.delete(textOf(key));
    if (entry.watched) this.#watched--;
    this.#writer.remove(key);
    const stopping = entry.object.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }

  #changed(key: StoredKey, pods: ReadonlySet<string>, object: KubeObject | undefined): void {
    this.#patience.heard();
    if (object === undefined) this.#writer.remove(key);
    else this.#writer.put(key, object);
    for (const uid of pods) for (const listener of this.#listeners) this.#call(listener, uid);
  }

  #call(listener: (podUid: string) => void, uid: string): void {
    try {
      listener(uid);
    } catch (error) {
      this.#options.logger.error("a listener to objects failed", { pod: uid, error: describeError(error) });
    }
  }

  /** From whoever follows it; one that nobody follows is asked for. */
  async #followed<T extends KubeObject>(kind: Kind<T>, key: StoredKey, signal?: AbortSignal): Promise<T | undefined> {
    const object = this.#entries.get(textOf(key))?.object as FollowedObject<T> | undefined;
    if (object === undefined) return this.#fetch(kind, key, signal);
    if (object.known) return object.value;
    const { clock } = this.#options;
    const stored = this.#writer.object<T>(key);
    const waitMs = this.#patience.waitMs(stored !== undefined);
    for (const end = clock.now() + waitMs; clock.now() < end; ) {
      if (object.lastError instanceof ConnectionError) return stored ?? this.#unknown(key, object.lastError);
      signal?.throwIfAborted();
      await sleep(clock, 10, signal);
      if (object.known) return object.value;
    }
    // A refusal is an answer too.
    if (object.lastError === undefined) this.#patience.silent(waitMs);
    return stored ?? this.#unknown(key, object.lastError);
  }

  async #fetch<T extends KubeObject>(kind: Kind<T>, key: StoredKey, signal?: AbortSignal): Promise<T | undefined> {
    const { client, clock } = this.#options;
    const stored = this.#writer.object<T>(key);
    const waitMs = this.#patience.waitMs(stored !== undefined);
    const late = new AbortController();
    const cancel = clock.after(waitMs, () => {
      this.#patience.silent(waitMs);
      late.abort(new Error(`no answer within ${waitMs / 1000} s`));
    });
    try {
      const name = key.namespace === "" ? { name: key.name } : { name: key.name, namespace: key.namespace };
      const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
      const object = trimManagedFields(await client.get(kind, name, { signal: either }));
      this.#writer.put(key, object);
      return object;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isNotFound(error)) return stored ?? this.#unknown(key, error);
      this.#writer.remove(key);
      return undefined;
    } finally {
      cancel();
    }
  }

  #unknown({ kind, namespace, name }: StoredKey, error: unknown): never {
    const reason = error === undefined ? "it has not answered" : describeError(error);
    const key = namespace === "" ? name : `${namespace}/${name}`;
    throw new ObjectUnknown({ kind, key, reason }, { cause: error });
  }
}

function textOf({ kind, namespace, name }: StoredKey): string {
  return `${kind}/${namespace}/${name}`;
}
