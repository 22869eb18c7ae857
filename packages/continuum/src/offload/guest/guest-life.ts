import { Contract, GRACE_ANNOTATION, type GuestPrivilege, ShadowPod } from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  ApiError,
  againAfter,
  done,
  ifNotFound,
  isAlreadyExists,
  isConditionTrue,
  isConflict,
  isNotFound,
  isTooManyRequests,
  Node,
  Pod,
  type Reconcile,
  type ReconcileContext,
  type Result,
} from "@fjord/kube";
import { isTerminal, podRequests } from "@fjord/node/pod-status";
import type { Home } from "../../home.ts";
import type { LiveContract, LiveContracts } from "../../live-contracts.ts";
import { ONLY_ONE_ANNOTATION } from "../pod/forge/index.ts";
import { admit } from "./admission.ts";
import { FIELD_MANAGER, followShadow, isBehind } from "./guest-changes.ts";
import { type GuestMemory, hasPassed, noteMade, noteRecreation, recreationDelay } from "./guest-memory.ts";
import { CONTRACT_ANNOTATION, contractNameOf, guestPod, isGuestOf, secondsOf, shadowUidOf } from "./guest-pod.ts";
import { larger } from "./guest-requests.ts";
import { type GuestState, keyOf } from "./guest-state.ts";
import { isLost, isTakenAway } from "./lost-pod.ts";
import type { Verdict } from "./shadow-status.ts";

export interface GuestLifeOptions {
  readonly home: Home;
  readonly contracts: LiveContracts;
  readonly state: GuestState;
  /** Has a shadow pod's status written after that time; without one, when there is nothing else to do. */
  readonly tell: (shadow: ShadowPod, afterMs?: number) => void;
  readonly allowed?: readonly GuestPrivilege[];
  readonly givenUpMs?: number;
  /** How long a consumer may evict the pods of a drained contract itself, by its own budgets. @default 30000 */
  readonly drainGraceMs?: number;
}

const REFUSED_AGAIN_MS = 15_000;
/** Guests choose how long they may take to end, but not that they stay for years after their contract. */
const LONGEST_GRACE_SECONDS = 600;
/** Until then the contract itself may not say yet that it is over. */
const NOT_OVER_AGAIN_MS = 5_000;

/** How soon a guest that is not to be made again by the API's word is looked at, should the watch not bring it here before. */
const UNPROMISED_AGAIN_MS = 1_000;

/** How wrong it may be when this process began to lead: clocks of API servers differ, and are known to two seconds. */
const LED_MS = 5_000;

/** How long a deletion that was answered may take to be shown before it is asked for again. */
const SHOWN_MS = 5_000;

/** Its signal is asked for only where there is something to do: most of what is heard of a guest asks for nothing. */
type Work = Pick<ReconcileContext, "signal">;

/** Brings one guest at a time to what its shadow pod and its contract ask for. */
export class GuestLife {
  readonly #options: GuestLifeOptions;
  readonly #state: GuestState;

  constructor(options: GuestLifeOptions) {
    this.#options = options;
    this.#state = options.state;
  }

  readonly reconcile: Reconcile = async ({ namespace = "", name }, work): Promise<Result> => {
    const shadow = this.#state.shadows.get(namespace, name);
    const pod = this.#state.pods.get({ namespace, name });
    if (pod !== undefined && this.#overstays(pod)) {
      if (!(await this.#isOver(pod, work))) return againAfter(NOT_OVER_AGAIN_MS);
      await this.#delete(pod, LONGEST_GRACE_SECONDS, work);
    }
    if (shadow === undefined || shadow.metadata.deletionTimestamp !== undefined) {
      return await this.#remove(namespace, name, pod, work);
    }
    // The pod of an earlier shadow pod of the name: its end is awaited.
    if (pod !== undefined && !isGuestOf(pod, shadow)) return await this.#displace(pod, shadow, work);
    const memory = this.#state.memoryOf(shadow);
    if (pod !== undefined) return await this.#keep(shadow, pod, memory, work);
    return await this.#make(shadow, memory, work);
  };

  /** Whether a guest is ending without a contract, and has given itself longer for that than any may take. */
  #overstays(pod: Pod): boolean {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
    if (deletionTimestamp === undefined || deletionGracePeriodSeconds <= LONGEST_GRACE_SECONDS) return false;
    return shadowUidOf(pod) !== undefined && this.#state.contractOf(pod) === undefined;
  }

  /** There is no shadow pod: neither is there to be a pod of one. */
  async #remove(namespace: string, name: string, pod: Pod | undefined, work: Work): Promise<Result> {
    const key = `${namespace}/${name}`;
    const { made, shadowUid: lastUid } = this.#state.memories.get(key) ?? {};
    const isUnseen =
      pod === undefined &&
      made !== undefined &&
      !hasPassed(this.#state.pods.health.resourceVersion, made.resourceVersion);
    const shadowUid = isUnseen ? lastUid : pod && shadowUidOf(pod);
    let result = done();
    if (shadowUid === undefined) {
      this.#state.graces.delete(key);
      this.#state.departed.delete(key);
      if (pod === undefined) this.#state.release(key);
    } else if (pod?.metadata.deletionTimestamp === undefined) {
      if (!(await this.#hasLeft(namespace, name, shadowUid, work))) return againAfter(UNPROMISED_AGAIN_MS);
      const grace = this.#state.graces.get(key);
      const unseen = { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, uid: made?.uid } } as Pod;
      if (pod === undefined) await this.#delete(unseen, grace, work);
      else result = await this.#end(pod, grace, work);
    }
    this.#state.memories.delete(key);
    return result;
  }

  async #displace(pod: Pod, shadow: ShadowPod, work: Work): Promise<Result> {
    const { namespace = "", name = "" } = shadow.metadata;
    const shadowUid = shadowUidOf(pod);
    if (shadowUid === undefined) {
      return this.#refuse(shadow, {
        reason: "PodRefused",
        message: "a pod of that name is there already, and not the consumer's",
      });
    }
    if (pod.metadata.deletionTimestamp !== undefined) return done();
    // Where the watch of shadow pods is behind, it is the pod of a later one.
    if (!(await this.#hasLeft(namespace, name, shadowUid, work))) return againAfter(UNPROMISED_AGAIN_MS);
    return await this.#end(pod, undefined, work);
  }

  async #keep(shadow: ShadowPod, pod: Pod, memory: GuestMemory, work: Work): Promise<Result> {
    memory.made = undefined;
    memory.podUid = pod.metadata.uid;
    memory.verdict = undefined;
    const { phase } = pod.status ?? {};
    const isEnding = pod.metadata.deletionTimestamp !== undefined;
    const grace = shadow.metadata.annotations?.[GRACE_ANNOTATION];
    if (grace !== undefined) return isEnding ? done() : await this.#end(pod, secondsOf(grace), work);
    if (isTerminal(phase)) {
      const isKnown = memory.ended !== undefined || isTerminal(shadow.status?.phase);
      if (!isKnown && shadow.spec.recreate === "Always" && (isLost(pod) || isTakenAway(pod))) {
        if (!isEnding) await this.#delete(pod, 0, work);
        return done();
      }
      memory.ended = phase as "Succeeded" | "Failed";
      this.#options.tell(shadow, 0);
      return done();
    }
    const contract = this.#state.contractOf(pod);
    if (isEnding) {
      if (contract?.drained) memory.lost ??= drained(contract);
      return await this.#awaitEnd(shadow, pod, work);
    }
    if (contract?.drained !== true) memory.drainedSince = undefined;
    if (contract === undefined) return await this.#dismiss(pod, memory, contract, work);
    if (contract.drained) {
      const { home, drainGraceMs = 30_000 } = this.#options;
      memory.drainedSince ??= home.clock.now();
      const left = memory.drainedSince + drainGraceMs - home.clock.now();
      if (left > 0) return againAfter(left);
      return await this.#dismiss(pod, memory, contract, work);
    }
    if (isBehind(pod, shadow)) await this.#follow(shadow, pod, contract, work);
    const isUrgent =
      shadow.status?.podUid === undefined ? shadow.spec.recreate === "Never" : shadow.status.podUid !== memory.podUid;
    this.#options.tell(shadow, isUrgent ? 0 : undefined);
    return done();
  }

  /** A pod that does not end because its node is away is given up, unless there may be only one. */
  async #awaitEnd(shadow: ShadowPod, pod: Pod, work: Work): Promise<Result> {
    const { home, givenUpMs = 5_000 } = this.#options;
    const { client } = home;
    const isBound = pod.spec?.nodeName !== undefined && pod.spec.nodeName !== "";
    const mayBeTwo = shadow.spec.recreate === "Always" && shadow.metadata.annotations?.[ONLY_ONE_ANNOTATION] !== "true";
    if (!mayBeTwo || !isBound) return done();
    // By the clock that dated it.
    const left = Date.parse(pod.metadata.deletionTimestamp ?? "") + givenUpMs - client.serverClock.now();
    if (left > 0) return againAfter(left);
    const node = await client.get(Node, { name: pod.spec?.nodeName ?? "" }, { signal: work.signal }).catch(ifNotFound);
    const isThere = node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    if (isThere) return againAfter(givenUpMs);
    await this.#delete(pod, 0, work);
    return done();
  }

  async #follow(shadow: ShadowPod, pod: Pod, contract: LiveContract, work: Work): Promise<void> {
    const { home, contracts, allowed = [] } = this.#options;
    const key = keyOf(shadow);
    const consumer = contract.consumer;
    const admission = admit({ key, shadow, consumer, isKnown: true, contracts, ledger: this.#state.ledger, allowed });
    if (!admission.admitted) {
      this.#refuse(shadow, admission.verdict);
      return;
    }
    // It would have been measured by the other contract, and counted against this one.
    if (admission.contract.id !== contract.id) {
      const message = `a pod that runs stays under its contract, ${contract.id}`;
      this.#refuse(shadow, { reason: "PodRefused", message });
      return;
    }
    const recorded = pod.metadata.annotations?.[CONTRACT_ANNOTATION] ?? contract.id;
    const taken = podRequests(pod);
    // Whatever becomes of the change, the pod takes no less until the watch shows that it does.
    this.#state.ledger.set(key, recorded, larger(taken, admission.requests));
    try {
      await followShadow(home.client, pod, shadow, consumer, recorded, work.signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.statusCode >= 500 || isConflict(error)) throw error;
      this.#state.ledger.set(key, recorded, taken);
      this.#refuse(shadow, { reason: "PodRefused", message: describeError(error) });
    }
  }

  /** The contract is over, or its guests are to go. Until it is gone a guest may still finish, and has not failed. */
  async #dismiss(pod: Pod, memory: GuestMemory, contract: LiveContract | undefined, work: Work): Promise<Result> {
    const { name = "", namespace = "", uid = "" } = pod.metadata;
    if (contract === undefined && !(await this.#isOver(pod, work))) return againAfter(NOT_OVER_AGAIN_MS);
    const isLong = (pod.spec?.terminationGracePeriodSeconds ?? 0) > LONGEST_GRACE_SECONDS;
    try {
      if (contract === undefined || contract.cleared)
        await this.#delete(pod, isLong ? LONGEST_GRACE_SECONDS : undefined, work);
      else await this.#options.home.client.evict({ name, namespace }, { preconditions: { uid }, signal: work.signal });
    } catch (error) {
      // A disruption budget stands before it, and it is the consumer's own drain.
      if (isTooManyRequests(error)) return againAfter(2_000);
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    memory.lost = contract === undefined ? "the contract has ended" : drained(contract);
    return done();
  }

  async #isThere(shadow: ShadowPod, work: Work): Promise<boolean> {
    const { name = "", namespace = "" } = shadow.metadata;
    try {
      return isGuestOf(await this.#options.home.client.get(Pod, { name, namespace }, { signal: work.signal }), shadow);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Whether the API, asked now, has that very shadow pod, and knows no more of its guest than was known here. */
  async #isPromised({ metadata }: ShadowPod, isKnown: boolean, work: Work): Promise<boolean> {
    const { name = "", namespace = "", uid } = metadata;
    const found = await this.#shadowNow(namespace, name, work);
    if (found === undefined || found.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined)
      return false;
    return !isTerminal(found.status?.phase) && (isKnown || found.status?.podUid === undefined);
  }

  /**
   * Whether a shadow pod is gone, or going. That a watch does not show it is no proof: it may be behind the one that shows its guest, as that of an agent
   * which has just come to lead, or at an API server that lags. Its deletion is, where it was seen; else the API is asked.
   */
  async #hasLeft(namespace: string, name: string, uid: string, work: Work): Promise<boolean> {
    if (this.#state.hasDeparted(namespace, name, uid)) return true;
    const found = await this.#shadowNow(namespace, name, work);
    if (found?.metadata.uid === uid && found.metadata.deletionTimestamp === undefined) return false;
    this.#state.departed.set(`${namespace}/${name}`, uid);
    return true;
  }

  async #shadowNow(namespace: string, name: string, work: Work): Promise<ShadowPod | undefined> {
    const { client } = this.#options.home;
    return await client.get(ShadowPod, { name, namespace }, { signal: work.signal }).catch(ifNotFound);
  }

  /** Whether a guest's contract is over. One that no watch shows may be newer than that. */
  async #isOver(pod: Pod, work: Work): Promise<boolean> {
    const name = contractNameOf(pod);
    const { client } = this.#options.home;
    const contract =
      this.#state.contractCache.get({ name }) ??
      (name === "" ? undefined : await client.get(Contract, { name }, { signal: work.signal }).catch(ifNotFound));
    return contract === undefined || isConditionTrue(contract.status?.conditions, "Ended");
  }

  async #make(shadow: ShadowPod, memory: GuestMemory, work: Work): Promise<Result> {
    const { home, contracts, allowed = [] } = this.#options;
    const { namespace = "" } = shadow.metadata;
    const key = keyOf(shadow);
    if (isTerminal(shadow.status?.phase) || shadow.metadata.annotations?.[GRACE_ANNOTATION] !== undefined)
      return done();
    if (memory.made !== undefined && !hasPassed(this.#state.pods.health.resourceVersion, memory.made.resourceVersion))
      return done();
    const isKnown = memory.podUid !== undefined || shadow.status?.podUid !== undefined;
    const contract = contracts.resolve(shadow.spec.contract);
    // Of one that was sent away by an earlier process, which could not say so, the contract still tells.
    const isOnce = shadow.spec.recreate === "Never" || contract?.drained === true;
    if (isKnown && (isOnce || memory.ended !== undefined || memory.lost !== undefined)) {
      if (memory.ended === undefined && memory.lost === undefined) {
        // It is for good: not on the word of a watch that may be behind.
        if (await this.#isThere(shadow, work)) return againAfter(1_000);
        memory.lost = contract?.drained ? drained(contract) : "the pod was lost, and is not to be made again";
      }
      this.#options.tell(shadow, 0);
      return done();
    }
    const twin = this.#state.twinOf(namespace);
    if (twin === undefined) {
      return this.#refuse(shadow, { reason: "ContractMissing", message: "the namespace is no twin namespace" }, 2_000);
    }
    const delay = isKnown ? recreationDelay(memory, home.clock.now()) : 0;
    if (delay > 0) return againAfter(delay);
    const { consumer } = twin;
    const judged = () => admit({ key, shadow, consumer, isKnown, contracts, ledger: this.#state.ledger, allowed });
    let admission = judged();
    // Both are gone where the API was put back to before them, and either watch may be the first to show it: what is made for a shadow pod that is no more would have to end at once.
    // And one that is inherited may have had its guest, of which a watch that is behind does not tell.
    if (admission.admitted && (isKnown || this.#isInherited(shadow))) {
      if (!(await this.#isPromised(shadow, isKnown, work))) return againAfter(UNPROMISED_AGAIN_MS);
      admission = judged();
    }
    if (!admission.admitted) return this.#refuse(shadow, admission.verdict);
    // From here to the answer the room is taken: whoever is looked at meanwhile sees it so.
    this.#state.ledger.set(key, shadow.spec.contract, admission.requests);
    this.#state.workedAt = home.clock.now();
    memory.verdict = undefined;
    try {
      noteMade(
        memory,
        await home.client.create(Pod, guestPod(shadow, twin), { fieldManager: FIELD_MANAGER, signal: work.signal }),
      );
    } catch (error) {
      if (!isAlreadyExists(error)) this.#state.ledger.delete(key);
      return await this.#notMade(error, shadow, memory, work);
    }
    if (isKnown) noteRecreation(memory, shadow.status?.recreations ?? 0, home.clock.now());
    const isUrgent = isKnown || shadow.spec.recreate === "Never" || shadow.status?.conditions !== undefined;
    this.#options.tell(shadow, isUrgent ? 0 : undefined);
    return done();
  }

  /** Whether another process may have led when the shadow pod came, and have made a guest of which nothing is known here. */
  #isInherited({ metadata }: ShadowPod): boolean {
    return !(Date.parse(metadata.creationTimestamp ?? "") > this.#state.ledSince + LED_MS);
  }

  async #notMade(error: unknown, shadow: ShadowPod, memory: GuestMemory, work: Work): Promise<Result> {
    const { name = "", namespace = "" } = shadow.metadata;
    if (isAlreadyExists(error)) {
      const found = await this.#options.home.client.get(Pod, { name, namespace }, { signal: work.signal });
      if (!isGuestOf(found, shadow)) {
        this.#state.ledger.delete(keyOf(shadow));
        await this.#displace(found, shadow, work);
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
    const memory = this.#state.memoryOf(shadow);
    // Of the same refusal only the first words count: numbers in it change with everything else.
    if (memory.verdict?.reason !== verdict.reason) memory.verdict = verdict;
    this.#state.refused.add(keyOf(shadow));
    this.#options.tell(shadow, afterMs);
    return done();
  }

  /** Ends a guest that is not seen to end, and asks once: it is looked at again before the watch shows what was asked. */
  async #end(pod: Pod, gracePeriodSeconds: number | undefined, work: Work): Promise<Result> {
    const { clock } = this.#options.home;
    const { deleted, pods } = this.#state;
    const { name = "", namespace = "", uid = "" } = pod.metadata;
    const left = (deleted.get(uid) ?? Number.NEGATIVE_INFINITY) + SHOWN_MS - clock.now();
    if (left > 0) return againAfter(left);
    await this.#delete(pod, gracePeriodSeconds, work);
    // Where the watch was quicker than the answer, nobody would ever take it away.
    if (pods.get({ name, namespace })?.metadata.uid === uid) deleted.set(uid, clock.now());
    return done();
  }

  async #delete(pod: Pod, gracePeriodSeconds: number | undefined, work: Work): Promise<void> {
    const { name = "", namespace = "", uid = "" } = pod.metadata;
    this.#state.workedAt = this.#options.home.clock.now();
    const options = {
      preconditions: { uid },
      signal: work.signal,
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    };
    try {
      await this.#options.home.client.delete(Pod, { name, namespace }, options);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

function drained({ id }: LiveContract): string {
  return `contract ${id} was drained`;
}
