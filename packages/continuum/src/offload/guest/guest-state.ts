import { CONSUMER_LABEL, Contract, GRACE_ANNOTATION, ShadowPod } from "@fjord/api";
import { type Cache, Namespace, Pod, type SharedCache, type SharedCaches } from "@fjord/kube";
import { isTerminal, podRequests, type ResourceAmounts } from "@fjord/node/pod-status";
import type { LiveContract, LiveContracts } from "../../live-contracts.ts";
import { HintedShadows } from "./guest-hints.ts";
import type { GuestMemory } from "./guest-memory.ts";
import { CONTRACT_ANNOTATION, contractNameOf, secondsOf, shadowUidOf, type TwinNamespace } from "./guest-pod.ts";
import { RoomLedger } from "./room-ledger.ts";

export interface GuestStateOptions {
  readonly caches: SharedCaches;
  readonly contracts: LiveContracts;
  /** Told when guests have left room. */
  readonly onRoom: () => void;
}

/** What is known of guests: shadow pods, their pods, their namespaces and contracts, and what they take of these. */
export class GuestState {
  readonly shadowCache: Cache<ShadowPod>;
  readonly shadows: HintedShadows;
  readonly pods: Cache<Pod>;
  readonly namespaces: Cache<Namespace>;
  readonly contractCache: Cache<Contract>;
  readonly ledger = new RoomLedger();
  /** By `namespace/name`. */
  readonly memories = new Map<string, GuestMemory>();
  /** Keys of shadow pods that were refused, those included that were admitted or went since. */
  readonly refused = new Set<string>();
  /** When a guest was last made or ended. */
  workedAt = Number.NEGATIVE_INFINITY;
  /** Guests whose deletion was answered and has yet to be shown, by uid, with when that was. */
  readonly deleted = new Map<string, number>();
  /** Grace of guests whose shadow pods are gone. */
  readonly graces = new Map<string, number>();
  /** Since when this process leads, by the API's clock: no other has made guests of shadow pods that came later. */
  ledSince = Number.POSITIVE_INFINITY;
  /** Uids of shadow pods that are certain to be gone, by `namespace/name`, until their guests are. */
  readonly departed = new Map<string, string>();
  readonly #options: GuestStateOptions;
  readonly #held: Disposable[] = [];

  constructor(options: GuestStateOptions) {
    this.#options = options;
    const { caches } = options;
    this.shadowCache = this.#hold(caches.open(ShadowPod));
    this.pods = this.#hold(caches.open(Pod, { labelSelector: CONSUMER_LABEL }));
    this.namespaces = this.#hold(caches.open(Namespace, { labelSelector: CONSUMER_LABEL }));
    this.contractCache = this.#hold(caches.open(Contract));
    this.shadows = new HintedShadows(this.shadowCache);
  }

  /** Counts what comes and goes. Returns how to stop that, and lets the caches go. */
  follow(): () => void {
    const release = [
      this.pods.addHandler({
        onAdd: (pod) => this.#count(pod),
        onUpdate: (_, pod) => this.#count(pod),
        onDelete: (pod) => this.#discount(pod),
      }),
      this.shadowCache.addHandler({
        onDelete: (shadow, { unknownFinalState }) => {
          this.#noteGrace(shadow);
          // What is missing in a list has not been seen to go.
          if (!unknownFinalState) this.departed.set(keyOf(shadow), shadow.metadata.uid ?? "");
        },
      }),
    ];
    return () => {
      for (const each of release) each();
      for (const held of this.#held) held[Symbol.dispose]();
    };
  }

  memoryOf(shadow: ShadowPod): GuestMemory {
    const key = keyOf(shadow);
    const { uid = "" } = shadow.metadata;
    const known = this.memories.get(key);
    if (known?.shadowUid === uid) return known;
    const memory: GuestMemory = { shadowUid: uid };
    this.memories.set(key, memory);
    return memory;
  }

  twinOf(name: string): TwinNamespace | undefined {
    const { labels, uid } = this.namespaces.get({ name })?.metadata ?? {};
    const consumer = labels?.[CONSUMER_LABEL];
    return consumer === undefined || uid === undefined ? undefined : { consumer, name, uid };
  }

  /** The contract in force that a pod was admitted under, or the one that has taken its place. */
  contractOf(pod: Pod): LiveContract | undefined {
    const contract = this.#options.contracts.resolve(contractNameOf(pod));
    return contract?.consumer === pod.metadata.labels?.[CONSUMER_LABEL] ? contract : undefined;
  }

  /** Whether that very shadow pod is known to go, or to be gone: by the watch, or by the proxy that passed its deletion on. */
  hasDeparted(namespace: string, name: string, uid: string): boolean {
    if (this.departed.get(`${namespace}/${name}`) === uid || this.shadows.isSeenGone(namespace, name, uid)) return true;
    const shown = this.shadowCache.get({ namespace, name })?.metadata;
    return shown?.uid === uid && shown.deletionTimestamp !== undefined;
  }

  /** What guests take under a contract and those that it superseded. */
  used(contract: string): ResourceAmounts {
    const { contracts } = this.#options;
    const id = contracts.resolve(contract)?.id ?? contract;
    return this.ledger.used((name) => name === contract || contracts.resolve(name)?.id === id);
  }

  /** Gives back what the guest took. */
  release(key: string): void {
    if (this.ledger.delete(key)) this.#options.onRoom();
  }

  /** Shadow pods that were refused, the oldest first. */
  waiting(): ShadowPod[] {
    const waiting: ShadowPod[] = [];
    // Asked for whenever a guest goes, of thousands that may be there: hardly any of them waits.
    for (const key of this.refused) {
      if (this.memories.get(key)?.verdict === undefined) {
        this.refused.delete(key);
        continue;
      }
      const slash = key.indexOf("/");
      const shadow = this.shadows.get(key.slice(0, slash), key.slice(slash + 1));
      if (shadow !== undefined) waiting.push(shadow);
    }
    const age = ({ metadata }: ShadowPod) => `${metadata.creationTimestamp}/${metadata.namespace}/${metadata.name}`;
    return waiting.sort((a, b) => (age(a) < age(b) ? -1 : 1));
  }

  #hold<T extends ShadowPod | Pod | Namespace | Contract>(shared: SharedCache<T>): Cache<T> {
    this.#held.push(shared);
    return shared.cache;
  }

  #count(pod: Pod): void {
    const { namespace, name, annotations } = pod.metadata;
    const contract = annotations?.[CONTRACT_ANNOTATION];
    if (contract === undefined || shadowUidOf(pod) === undefined) return;
    const key = `${namespace}/${name}`;
    if (isTerminal(pod.status?.phase)) this.release(key);
    else this.ledger.set(key, contract, podRequests(pod));
  }

  #discount(pod: Pod): void {
    const { namespace, name, uid = "" } = pod.metadata;
    const key = `${namespace}/${name}`;
    this.deleted.delete(uid);
    const made = this.memories.get(key)?.made;
    // The next one has been made already, and takes its place.
    if (made === undefined || made.uid === uid) this.release(key);
  }

  #noteGrace(shadow: ShadowPod): void {
    const grace = shadow.metadata.annotations?.[GRACE_ANNOTATION];
    if (grace !== undefined) this.graces.set(keyOf(shadow), secondsOf(grace));
  }
}

/** `namespace/name`. */
export function keyOf({ metadata }: ShadowPod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
