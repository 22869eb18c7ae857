import { CONSUMER_LABEL, Contract, GRACE_ANNOTATION, ShadowPod } from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  ApiError,
  againAfter,
  type Cache,
  Controller,
  done,
  isAlreadyExists,
  isConditionTrue,
  isConflict,
  isNotFound,
  isTooManyRequests,
  Namespace,
  Node,
  Pod,
  type Reconcile,
  type Result,
  type Runnable,
  type SharedCache,
  sameContent,
  watches,
} from "@fjord/kube";
import { isTerminal, podRequests, type ResourceAmounts } from "@fjord/node/pod-status";
import type { Home } from "../../home.ts";
import type { LiveContract, LiveContracts } from "../../market/live-contracts.ts";
import { ONLY_ONE_ANNOTATION } from "../pod/forge/index.ts";
import { admit } from "./admission.ts";
import { FIELD_MANAGER, followShadow, isBehind } from "./guest-changes.ts";
import { HintedShadows, type SeenWrite } from "./guest-hints.ts";
import { type GuestMemory, hasPassed, noteMade, noteRecreation, recreationDelay } from "./guest-memory.ts";
import { CONTRACT_ANNOTATION, guestPod, isGuestOf, shadowUidOf, type TwinNamespace } from "./guest-pod.ts";
import type { GuestPrivilege } from "./guest-security.ts";
import { isLost } from "./lost-pod.ts";
import { RoomLedger } from "./room-ledger.ts";
import { shadowStatus, type Verdict } from "./shadow-status.ts";

export interface GuestPodsOptions {
  readonly home: Home;
  readonly contracts: LiveContracts;
  /** What the owner lets guests do beyond Kubernetes' baseline. @default nothing */
  readonly allowed?: readonly GuestPrivilege[];
  /**
   * How long after the end of its grace a pod may still be there before its node is asked about, in milliseconds.
   * @default 5_000
   */
  readonly givenUpMs?: number;
  /** How many guests are worked on at once. @default 16 */
  readonly concurrency?: number;
}

/** How long a status may wait for what comes next, so that an ordinary pod's is written once. */
const STATUS_MS = { running: 3_000, pending: 10_000 };
const REFUSED_AGAIN_MS = 15_000;

/** The provider's side of pods: makes those that shadow pods ask for, within their contracts, and keeps them there. */
export class GuestPods implements Runnable {
  readonly name = "guest pods";
  readonly needsLeaderElection = true;
  readonly #options: GuestPodsOptions;
  readonly #held: SharedCache<never>[] = [];
  readonly #shadowCache: Cache<ShadowPod>;
  readonly #pods: Cache<Pod>;
  readonly #namespaces: Cache<Namespace>;
  readonly #contractCache: Cache<Contract>;
  readonly #shadows: HintedShadows;
  readonly #ledger = new RoomLedger();
  readonly #memories = new Map<string, GuestMemory>();
  /** Grace of guests whose shadow pods are gone. */
  readonly #graces = new Map<string, number>();
  readonly #controller: Controller;
  readonly #statuses: Controller;
  #isLooking = false;

  constructor(options: GuestPodsOptions) {
    this.#options = options;
    const { home, concurrency = 16 } = options;
    const { clock, random, logger, metrics, caches } = home;
    this.#shadowCache = this.#hold(caches.open(ShadowPod));
    this.#pods = this.#hold(caches.open(Pod, { labelSelector: CONSUMER_LABEL }));
    this.#namespaces = this.#hold(caches.open(Namespace, { labelSelector: CONSUMER_LABEL }));
    this.#contractCache = this.#hold(caches.open(Contract));
    this.#shadows = new HintedShadows(this.#shadowCache);
    const means = { clock, random, logger, backoff: { initial: 50, max: 10_000 }, ...(metrics && { metrics }) };
    this.#controller = new Controller({
      ...means,
      name: "guest-pods",
      concurrency,
      reconcile: this.#reconcile,
      sources: [
        watches(this.#shadowCache),
        watches(this.#pods),
        watches(this.#namespaces, ({ metadata }) => this.#shadowsIn(metadata.name ?? "")),
        watches(this.#contractCache, () => []),
      ],
    });
    this.#statuses = new Controller({
      ...means,
      name: "guest-statuses",
      concurrency,
      reconcile: this.#writeStatus,
      sources: [],
    });
  }

  /** Takes a write over that the proxy has passed on, ahead of the watch. */
  see(write: SeenWrite): void {
    if (!this.#shadows.see(write)) return;
    const name = write.name || (write.body as ShadowPod).metadata.name || "";
    this.#controller.enqueue({ namespace: write.namespace, name });
  }

  /** What guests take under a contract and those that it superseded. */
  used(contract: string): ResourceAmounts {
    const { contracts } = this.#options;
    const id = contracts.resolve(contract)?.id ?? contract;
    return this.#ledger.used((name) => name === contract || contracts.resolve(name)?.id === id);
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const release = [
      this.#pods.addHandler({
        onAdd: (pod) => this.#count(pod),
        onUpdate: (_, pod) => this.#count(pod),
        onDelete: (pod) => this.#discount(pod),
      }),
      this.#shadowCache.addHandler({ onDelete: (shadow) => this.#noteGrace(shadow) }),
      this.#options.contracts.onChange((consumer) => this.#contractsChanged(consumer)),
    ];
    try {
      await Promise.all([this.#controller.run(stop, abandon), this.#statuses.run(stop, abandon)]);
    } finally {
      for (const each of release) each();
      for (const held of this.#held) held[Symbol.dispose]();
    }
  }

  #hold<T extends ShadowPod | Pod | Namespace | Contract>(shared: SharedCache<T>): Cache<T> {
    this.#held.push(shared as unknown as SharedCache<never>);
    return shared.cache;
  }

  readonly #reconcile: Reconcile = async ({ namespace = "", name }, { signal }): Promise<Result> => {
    const shadow = this.#shadows.get(namespace, name);
    const pod = this.#pods.get({ namespace, name });
    if (shadow === undefined || shadow.metadata.deletionTimestamp !== undefined) {
      return await this.#remove(namespace, name, pod, signal);
    }
    // The pod of an earlier shadow pod of the name: its end is awaited.
    if (pod !== undefined && !isGuestOf(pod, shadow)) return await this.#displace(pod, shadow, signal);
    const memory = this.#memoryOf(shadow);
    if (pod !== undefined) return await this.#keep(shadow, pod, memory, signal);
    return await this.#make(shadow, memory, signal);
  };

  /** There is no shadow pod: neither is there to be a pod of one. */
  async #remove(namespace: string, name: string, pod: Pod | undefined, signal: AbortSignal): Promise<Result> {
    const key = `${namespace}/${name}`;
    const made = this.#memories.get(key)?.made;
    const isUnseen =
      pod === undefined && made !== undefined && !hasPassed(this.#pods.health.resourceVersion, made.resourceVersion);
    if (pod !== undefined && shadowUidOf(pod) !== undefined) {
      if (pod.metadata.deletionTimestamp === undefined) await this.#delete(pod, this.#graces.get(key), signal);
    } else if (isUnseen) {
      const unseen = { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, uid: made.uid } } as Pod;
      await this.#delete(unseen, this.#graces.get(key), signal);
    } else {
      this.#graces.delete(key);
      if (pod === undefined && this.#ledger.delete(key)) this.#lookForRoom();
    }
    this.#memories.delete(key);
    return done();
  }

  async #displace(pod: Pod, shadow: ShadowPod, signal: AbortSignal): Promise<Result> {
    if (shadowUidOf(pod) === undefined) {
      return this.#refuse(shadow, {
        reason: "PodRefused",
        message: "a pod of that name is there already, and not the consumer's",
      });
    }
    if (pod.metadata.deletionTimestamp === undefined) await this.#delete(pod, undefined, signal);
    return done();
  }

  async #keep(shadow: ShadowPod, pod: Pod, memory: GuestMemory, signal: AbortSignal): Promise<Result> {
    memory.made = undefined;
    memory.podUid = pod.metadata.uid;
    memory.verdict = undefined;
    const { phase } = pod.status ?? {};
    const isEnding = pod.metadata.deletionTimestamp !== undefined;
    const grace = shadow.metadata.annotations?.[GRACE_ANNOTATION];
    if (grace !== undefined) {
      if (!isEnding) await this.#delete(pod, secondsOf(grace), signal);
      return done();
    }
    if (isTerminal(phase)) {
      if (isLost(pod) && shadow.spec.recreate === "Always" && !isTerminal(shadow.status?.phase)) {
        if (!isEnding) await this.#delete(pod, 0, signal);
        return done();
      }
      memory.ended = phase as "Succeeded" | "Failed";
      this.#tell(shadow, 0);
      return done();
    }
    if (isEnding) return await this.#awaitEnd(shadow, pod, signal);
    const contract = this.#contractOf(pod);
    if (contract === undefined || contract.drained) return await this.#dismiss(shadow, pod, memory, contract, signal);
    if (isBehind(pod, shadow)) await this.#follow(shadow, pod, contract, signal);
    const isUrgent =
      shadow.status?.podUid === undefined ? shadow.spec.recreate === "Never" : shadow.status.podUid !== memory.podUid;
    this.#tell(shadow, isUrgent ? 0 : phase === "Running" ? STATUS_MS.running : STATUS_MS.pending);
    return done();
  }

  /** A pod that does not end because its node is away is given up, unless there may be only one. */
  async #awaitEnd(shadow: ShadowPod, pod: Pod, signal: AbortSignal): Promise<Result> {
    const { home, givenUpMs = 5_000 } = this.#options;
    const { clock, client } = home;
    const isBound = pod.spec?.nodeName !== undefined && pod.spec.nodeName !== "";
    const mayBeTwo = shadow.spec.recreate === "Always" && shadow.metadata.annotations?.[ONLY_ONE_ANNOTATION] !== "true";
    if (!mayBeTwo || !isBound) return done();
    const left = Date.parse(pod.metadata.deletionTimestamp ?? "") + givenUpMs - clock.now();
    if (left > 0) return againAfter(left);
    const node = await client.get(Node, { name: pod.spec?.nodeName ?? "" }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    const isThere = node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    if (isThere) return againAfter(givenUpMs);
    await this.#delete(pod, 0, signal);
    return done();
  }

  async #follow(shadow: ShadowPod, pod: Pod, contract: LiveContract, signal: AbortSignal): Promise<void> {
    const { home, contracts, allowed = [] } = this.#options;
    const key = keyOf(shadow);
    const consumer = contract.consumer;
    const admission = admit({ key, shadow, consumer, isKnown: true, contracts, ledger: this.#ledger, allowed });
    if (!admission.admitted) {
      this.#refuse(shadow, admission.verdict);
      return;
    }
    const recorded = pod.metadata.annotations?.[CONTRACT_ANNOTATION] ?? contract.id;
    this.#ledger.set(key, recorded, admission.requests);
    try {
      await followShadow(home.client, pod, shadow, consumer, recorded, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.statusCode >= 500 || isConflict(error)) throw error;
      this.#refuse(shadow, { reason: "PodRefused", message: describeError(error) });
    }
  }

  /** The contract is over, or its guests are to go. */
  async #dismiss(
    shadow: ShadowPod,
    pod: Pod,
    memory: GuestMemory,
    contract: LiveContract | undefined,
    signal: AbortSignal,
  ): Promise<Result> {
    const { name = "", namespace = "", uid = "" } = pod.metadata;
    if (contract === undefined && !this.#isOver(pod.metadata.annotations?.[CONTRACT_ANNOTATION] ?? ""))
      return againAfter(5_000);
    memory.lost = contract === undefined ? "the contract has ended" : `contract ${contract.id} was drained`;
    try {
      if (contract === undefined) await this.#delete(pod, undefined, signal);
      else await this.#options.home.client.evict({ name, namespace }, { preconditions: { uid }, signal });
    } catch (error) {
      // A disruption budget stands before it.
      if (isTooManyRequests(error)) return againAfter(2_000);
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    this.#tell(shadow, 0);
    return done();
  }

  async #make(shadow: ShadowPod, memory: GuestMemory, signal: AbortSignal): Promise<Result> {
    const { home, contracts, allowed = [] } = this.#options;
    const { namespace = "" } = shadow.metadata;
    const key = keyOf(shadow);
    if (isTerminal(shadow.status?.phase) || shadow.metadata.annotations?.[GRACE_ANNOTATION] !== undefined)
      return done();
    if (memory.made !== undefined && !hasPassed(this.#pods.health.resourceVersion, memory.made.resourceVersion))
      return done();
    const isKnown = memory.podUid !== undefined || shadow.status?.podUid !== undefined;
    if (isKnown && (shadow.spec.recreate === "Never" || memory.ended !== undefined || memory.lost !== undefined)) {
      if (memory.ended === undefined) memory.lost ??= "the pod was lost, and is not to be made again";
      this.#tell(shadow, 0);
      return done();
    }
    const twin = this.#twinOf(namespace);
    if (twin === undefined) {
      return this.#refuse(shadow, { reason: "ContractMissing", message: "the namespace is no twin namespace" }, 2_000);
    }
    const delay = isKnown ? recreationDelay(memory, home.clock.now()) : 0;
    if (delay > 0) return againAfter(delay);
    const { consumer } = twin;
    const admission = admit({ key, shadow, consumer, isKnown, contracts, ledger: this.#ledger, allowed });
    if (!admission.admitted) return this.#refuse(shadow, admission.verdict);
    // From here to the answer the room is taken: whoever is looked at meanwhile sees it so.
    this.#ledger.set(key, shadow.spec.contract, admission.requests);
    memory.verdict = undefined;
    try {
      noteMade(memory, await home.client.create(Pod, guestPod(shadow, twin), { fieldManager: FIELD_MANAGER, signal }));
    } catch (error) {
      if (!isAlreadyExists(error)) this.#ledger.delete(key);
      return await this.#notMade(error, shadow, memory, signal);
    }
    if (isKnown) noteRecreation(memory, shadow.status?.recreations ?? 0, home.clock.now());
    const isUrgent = isKnown || shadow.spec.recreate === "Never" || shadow.status?.conditions !== undefined;
    this.#tell(shadow, isUrgent ? 0 : STATUS_MS.pending);
    return done();
  }

  async #notMade(error: unknown, shadow: ShadowPod, memory: GuestMemory, signal: AbortSignal): Promise<Result> {
    const { name = "", namespace = "" } = shadow.metadata;
    if (isAlreadyExists(error)) {
      const found = await this.#options.home.client.get(Pod, { name, namespace }, { signal });
      if (!isGuestOf(found, shadow)) {
        this.#ledger.delete(keyOf(shadow));
        await this.#displace(found, shadow, signal);
        return againAfter(1_000);
      }
      noteMade(memory, found);
      return done();
    }
    if (!(error instanceof ApiError) || error.statusCode >= 500 || isTooManyRequests(error)) throw error;
    this.#refuse(shadow, { reason: "PodRefused", message: describeError(error) });
    return againAfter(REFUSED_AGAIN_MS);
  }

  #refuse(shadow: ShadowPod, verdict: Verdict, afterMs = 0): Result {
    const memory = this.#memoryOf(shadow);
    // Of the same refusal only the first words count: numbers in it change with everything else.
    if (memory.verdict?.reason !== verdict.reason) memory.verdict = verdict;
    this.#tell(shadow, afterMs);
    return done();
  }

  /** Writes the status later: what comes until then is in it too. */
  #tell(shadow: ShadowPod, afterMs: number): void {
    const { namespace = "", name = "" } = shadow.metadata;
    this.#statuses.enqueue({ namespace, name }, afterMs);
  }

  readonly #writeStatus: Reconcile = async ({ namespace = "", name }, { signal }): Promise<Result> => {
    const { clock, client } = this.#options.home;
    const shadow = this.#shadows.get(namespace, name);
    if (shadow === undefined || isTerminal(shadow.status?.phase)) return done();
    const memory = this.#memoryOf(shadow);
    if (memory.written !== undefined && !isShown(shadow, memory.written)) return done();
    const found = this.#pods.get({ namespace, name });
    const pod = found !== undefined && isGuestOf(found, shadow) ? found : undefined;
    const uid = memory.podUid ?? pod?.metadata.uid;
    const before = shadow.status;
    const isAnother = uid !== undefined && before?.podUid !== undefined && before.podUid !== uid;
    const verdict = memory.verdict ?? (uid === undefined ? undefined : within);
    const status = shadowStatus({
      shadow,
      ...(pod && { pod }),
      ...(verdict && { verdict }),
      ...(memory.lost !== undefined && { lost: memory.lost }),
      ...(memory.ended !== undefined && memory.lost === undefined && { ended: memory.ended }),
      recreating: pod === undefined && uid !== undefined,
      // Made again by this process, or by an earlier one that could not say so.
      recreations: memory.recreations ?? (before?.recreations ?? 0) + (isAnother ? 1 : 0),
      now: clock.now(),
    });
    if (sameContent(status, before)) return done();
    const patch = { metadata: { uid: shadow.metadata.uid }, status };
    try {
      const written = await client.patch(ShadowPod, { namespace, name }, "merge", patch, {
        subresource: "status",
        signal,
      });
      memory.written = written.metadata.resourceVersion ?? "";
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return done();
  };

  async #delete(pod: Pod, gracePeriodSeconds: number | undefined, signal: AbortSignal): Promise<void> {
    const { name = "", namespace = "", uid = "" } = pod.metadata;
    const options = { preconditions: { uid }, signal, ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }) };
    try {
      await this.#options.home.client.delete(Pod, { name, namespace }, options);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  #twinOf(name: string): TwinNamespace | undefined {
    const { labels, uid } = this.#namespaces.get({ name })?.metadata ?? {};
    const consumer = labels?.[CONSUMER_LABEL];
    return consumer === undefined || uid === undefined ? undefined : { consumer, name, uid };
  }

  #contractOf(pod: Pod): LiveContract | undefined {
    const name = pod.metadata.annotations?.[CONTRACT_ANNOTATION] ?? "";
    const contract = this.#options.contracts.resolve(name);
    return contract?.consumer === pod.metadata.labels?.[CONSUMER_LABEL] ? contract : undefined;
  }

  /** Whether the contract itself says that it is over: that it is not among those in force may be but a late start. */
  #isOver(name: string): boolean {
    const contract = this.#contractCache.get({ name });
    return contract === undefined || isConditionTrue(contract.status?.conditions, "Ended");
  }

  #count(pod: Pod): void {
    const { namespace = "", name = "", annotations } = pod.metadata;
    const key = `${namespace}/${name}`;
    const contract = annotations?.[CONTRACT_ANNOTATION];
    if (contract === undefined || shadowUidOf(pod) === undefined) return;
    if (!isTerminal(pod.status?.phase)) this.#ledger.set(key, contract, podRequests(pod));
    else if (this.#ledger.delete(key)) this.#lookForRoom();
  }

  #discount(pod: Pod): void {
    const { namespace = "", name = "", uid } = pod.metadata;
    const key = `${namespace}/${name}`;
    const made = this.#memories.get(key)?.made;
    if (made !== undefined && made.uid !== uid) return;
    if (this.#ledger.delete(key)) this.#lookForRoom();
  }

  #noteGrace({ metadata }: ShadowPod): void {
    const grace = metadata.annotations?.[GRACE_ANNOTATION];
    if (grace !== undefined) this.#graces.set(`${metadata.namespace}/${metadata.name}`, secondsOf(grace));
  }

  #contractsChanged(consumer: string): void {
    for (const pod of this.#pods.list()) {
      if (pod.metadata.labels?.[CONSUMER_LABEL] !== consumer) continue;
      this.#controller.enqueue({ namespace: pod.metadata.namespace ?? "", name: pod.metadata.name ?? "" });
    }
    this.#lookForRoom();
  }

  /** Something may fit now that did not: all that waits is looked at again, the oldest first. */
  #lookForRoom(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#options.home.clock.after(0, () => {
      this.#isLooking = false;
      const waiting = [...this.#memories].flatMap(([key, { verdict }]) => {
        const slash = key.indexOf("/");
        const shadow = verdict && this.#shadows.get(key.slice(0, slash), key.slice(slash + 1));
        return shadow === undefined ? [] : [shadow];
      });
      const age = ({ metadata }: ShadowPod) => `${metadata.creationTimestamp}/${metadata.namespace}/${metadata.name}`;
      waiting.sort((a, b) => (age(a) < age(b) ? -1 : 1));
      for (const { metadata } of waiting) {
        this.#controller.enqueue({ namespace: metadata.namespace ?? "", name: metadata.name ?? "" });
      }
    });
  }

  *#shadowsIn(namespace: string): Iterable<{ namespace: string; name: string }> {
    for (const { metadata } of this.#shadowCache.list(namespace)) yield { namespace, name: metadata.name ?? "" };
    for (const [key, memory] of this.#memories) {
      if (memory.verdict && key.startsWith(`${namespace}/`)) yield { namespace, name: key.slice(namespace.length + 1) };
    }
  }

  #memoryOf(shadow: ShadowPod): GuestMemory {
    const key = keyOf(shadow);
    const { uid = "" } = shadow.metadata;
    const known = this.#memories.get(key);
    if (known?.shadowUid === uid) return known;
    const memory: GuestMemory = { shadowUid: uid };
    this.#memories.set(key, memory);
    return memory;
  }
}

const within: Verdict = { reason: "WithinContract", message: "" };

function keyOf({ metadata }: ShadowPod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Whether the object is at least as new as a revision. */
function isShown({ metadata }: ShadowPod, resourceVersion: string): boolean {
  return metadata.resourceVersion === resourceVersion || hasPassed(metadata.resourceVersion, resourceVersion);
}

/** What a consumer wrote, as a number of seconds that a pod can have. */
function secondsOf(text: string): number {
  const seconds = Number(text);
  return Number.isInteger(seconds) && seconds >= 0 && seconds < 2 ** 31 ? seconds : 30;
}
