import { ORIGIN_UID_LABEL, ShadowPod } from "@fjord/api";
import { describeError, onAbort } from "@fjord/base";
import { Cache, isNotFound, type KubeClient, Pod } from "@fjord/kube";
import type { Means } from "../../home.ts";
import { GENERATION_ANNOTATION } from "../generation-annotation.ts";

export interface RemotePodsOptions extends Means {
  readonly client: KubeClient;
  /** Told of the uid of the own pod that something happened to, and where the other side has it. */
  readonly onChange: (originUid: string, namespace: string, name: string) => void;
  /** Told of the uid of a shadow pod that is there no more. */
  readonly onShadowGone?: (uid: string) => void;
  /** Told when both lists are complete. */
  readonly onSync: () => void;
}

/** The shadow pods of this site at another, and the pods made of them: one watch each, trimmed to what is needed. */
export class RemotePods {
  readonly #options: RemotePodsOptions;
  readonly #shadows: Cache<ShadowPod>;
  readonly #guests: Cache<Pod>;
  #stop: AbortController | undefined;
  #runs: Promise<unknown> = Promise.resolve();

  constructor(options: RemotePodsOptions) {
    this.#options = options;
    const { client, clock, random, logger, onChange } = options;
    const timing = { backoffInitialMs: 100, backoffMaxMs: 3_000, stableMs: 1_000 };
    const means = { client, clock, random, logger, timing, omitManagedFields: true };
    const shadowOrigin = (shadow: ShadowPod) => [originOfShadow(shadow)];
    this.#shadows = new Cache({ ...means, kind: ShadowPod, transform: trimShadow, indexers: { origin: shadowOrigin } });
    const guestOrigin = (guest: Pod) => [originOfGuest(guest)];
    this.#guests = new Cache({ ...means, kind: Pod, transform: trimGuest, indexers: { origin: guestOrigin } });
    const tell = (origin: string, { namespace = "", name = "" }: { namespace?: string; name?: string }) =>
      onChange(origin, namespace, name);
    this.#shadows.addHandler({
      onAdd: (shadow) => tell(originOfShadow(shadow), shadow.metadata),
      onUpdate: (_, shadow) => tell(originOfShadow(shadow), shadow.metadata),
      onDelete: (shadow) => {
        options.onShadowGone?.(shadow.metadata.uid ?? "");
        tell(originOfShadow(shadow), shadow.metadata);
      },
    });
    this.#guests.addHandler({
      onAdd: (guest) => tell(originOfGuest(guest), guest.metadata),
      onUpdate: (_, guest) => tell(originOfGuest(guest), guest.metadata),
      onDelete: (guest) => tell(originOfGuest(guest), guest.metadata),
    });
  }

  get hasSynced(): boolean {
    return this.#shadows.hasSynced && this.#guests.hasSynced;
  }

  /** Where the list of shadow pods stands. */
  get shadowsVersion(): string | undefined {
    return this.#shadows.health.resourceVersion;
  }

  shadowOf(originUid: string): ShadowPod | undefined {
    return this.#shadows.byIndex("origin", originUid)[0];
  }

  guestOf(originUid: string): Pod | undefined {
    return this.#guests.byIndex("origin", originUid)[0];
  }

  shadowAt(namespace: string, name: string): ShadowPod | undefined {
    return this.#shadows.get({ namespace, name });
  }

  /** Whether the pod of that name there is another one's than the own pod's. The other side is asked until its list is complete here. */
  async hasAnothers(originUid: string, namespace: string, name: string, signal: AbortSignal): Promise<boolean> {
    const key = { namespace, name };
    const isKnown = this.#guests.hasSynced;
    const guest = isKnown ? this.#guests.get(key) : await this.#options.client.get(Pod, key, { signal }).catch(absent);
    return guest !== undefined && originOfGuest(guest) !== originUid;
  }

  shadows(): ShadowPod[] {
    return this.#shadows.list();
  }

  /** Whether the other side, asked now, has neither shadow nor pod of the name that are the own pod's. */
  async isGone(originUid: string, namespace: string, name: string, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    const [shadow, guest] = await Promise.all([
      client.get(ShadowPod, { namespace, name }, { signal }).catch(absent),
      client.get(Pod, { namespace, name }, { signal }).catch(absent),
    ]);
    return (
      (shadow === undefined || shadow.spec.originUid !== originUid) &&
      (guest === undefined || originOfGuest(guest) !== originUid)
    );
  }

  start(signal: AbortSignal): void {
    const stop = new AbortController();
    this.#stop = stop;
    const release = onAbort(signal, () => stop.abort());
    const before = this.#runs;
    this.#runs = before
      .then(() => Promise.all([this.#shadows, this.#guests].map((cache) => cache.run(stop.signal))))
      .finally(release);
    if (this.hasSynced) return;
    Promise.all([this.#shadows.waitForSync(stop.signal), this.#guests.waitForSync(stop.signal)]).then(
      this.#options.onSync,
      (error) => this.#options.logger.debug("a list of shadow pods was given up", { error: describeError(error) }),
    );
  }

  /** Watches anew, going on from where it was: connections that were cut may be silent for long. */
  restart(signal: AbortSignal): void {
    this.#stop?.abort();
    this.start(signal);
  }

  async stop(): Promise<void> {
    this.#stop?.abort();
    await this.#runs;
  }
}

/**
 * Whether a guest is what its shadow pod asks for, and its node knows it: what is told of it is then about that. Providers
 * whose pods tell nothing of generations are taken at their word.
 */
export function hasObserved({ metadata, status }: Pod, shadow: ShadowPod): boolean {
  const { generation = 0, annotations } = metadata;
  const made = Number(annotations?.[GENERATION_ANNOTATION]) || 0;
  return made >= (shadow.metadata.generation ?? 0) && (status?.observedGeneration ?? generation) >= generation;
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function originOfShadow(shadow: ShadowPod): string {
  return typeof shadow.spec?.originUid === "string" ? shadow.spec.originUid : "";
}

function originOfGuest(guest: Pod): string {
  return guest.metadata.labels?.[ORIGIN_UID_LABEL] ?? "";
}

/** What was forged is known by its digest; of the rest only what is looked at is kept. */
function trimShadow(shadow: ShadowPod): ShadowPod {
  const { metadata, spec, status } = shadow;
  const { contract, originUid, recreate } = spec ?? {};
  return {
    apiVersion: shadow.apiVersion,
    kind: shadow.kind,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
      generation: metadata.generation,
      resourceVersion: metadata.resourceVersion,
      deletionTimestamp: metadata.deletionTimestamp,
      annotations: metadata.annotations,
    },
    spec: { contract, originUid, recreate, pod: { spec: { containers: [] } } },
    status,
  } as ShadowPod;
}

function trimGuest(guest: Pod): Pod {
  const { metadata, status } = guest;
  return {
    apiVersion: guest.apiVersion,
    kind: guest.kind,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
      generation: metadata.generation,
      resourceVersion: metadata.resourceVersion,
      deletionTimestamp: metadata.deletionTimestamp,
      annotations: { [GENERATION_ANNOTATION]: metadata.annotations?.[GENERATION_ANNOTATION] ?? "" },
      labels: { [ORIGIN_UID_LABEL]: originOfGuest(guest) },
    },
    status,
  } as Pod;
}
