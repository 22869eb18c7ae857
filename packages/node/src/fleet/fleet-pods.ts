import { type Clock, describeError, type Logger, type Random, sleep, TokenBucket, WorkQueue } from "@fjord/base";
import {
  byNode,
  Cache,
  compareResourceVersions,
  ifNotFound,
  isConflict,
  isNotFound,
  type KubeClient,
  keyTextOf,
  Pod,
} from "@fjord/kube";
import type { RestartTiming } from "../pod/plan/restart-delay.ts";
import type { PodStatus } from "../pod/pod-containers.ts";
import { isReported, statusPatch, wouldRevive } from "../pod/status/status-patch.ts";
import {
  type AddressRange,
  type PodRule,
  type Settings,
  settingObjections,
  settingsOf,
} from "../runtimes/simulated/index.ts";
import { type PodLife, restoreLife } from "./pod-life.ts";
import { type SimulationResult, simulatePod } from "./simulate-pod.ts";
import { PodTrimmer } from "./trim-pod.ts";

/** One process asks for thousands of nodes: it may ask an API that was away again soon. */
export const FLEET_TIMING = { backoffInitialMs: 200, backoffMaxMs: 3_000 } as const;

/** A node as its pods see it. */
export interface PodHost {
  readonly address: string;
  /** Nothing is heard of it, so nothing of its pods either. */
  readonly isAway: boolean;
}

export interface FleetPodsOptions {
  readonly client: Pick<KubeClient, "get" | "list" | "watch" | "patch" | "delete">;
  /** Undefined for nodes that are not of the fleet. */
  readonly host: (nodeName: string) => PodHost | undefined;
  readonly rules: () => readonly PodRule[];
  readonly addresses: AddressRange;
  readonly timing: RestartTiming;
  /** How many requests are under way at once. @default 24 */
  readonly parallel?: number;
  /** The most requests that are begun in a second. @default no limit */
  readonly requestsPerSecond?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A pod and what is simulated of it. */
export interface LivingPod {
  readonly pod: Pod;
  readonly life: PodLife;
  readonly settings: Settings;
  /** Told anew where the pod is at rest. */
  readonly status: () => PodStatus;
}

interface Entry {
  /** The newest version that was seen, by watch or as an answer. */
  pod: Pod;
  life: PodLife | undefined;
  /** The version that nothing is to be done about before `wakeAt`. */
  settled: string;
  wakeAt: number;
  isConcluded: boolean;
  /** The status was dropped: whatever changes brings it back. */
  isAtRest: boolean;
}

/**
 * All pods of a fleet: one watch, one queue of pods to look at, one heap of times. A pod at rest is a small entry in a
 * map, without its status, and costs nothing else.
 */
export class FleetPods {
  readonly #options: FleetPodsOptions;
  readonly #cache: Cache<Pod>;
  readonly #queue: WorkQueue;
  readonly #entries = new Map<string, Entry>();
  readonly #trimmer: PodTrimmer;
  readonly #statuses = new WeakMap<Pod, PodStatus>();
  #requests = 0;
  readonly #bucket: TokenBucket | undefined;

  constructor(options: FleetPodsOptions) {
    this.#options = options;
    const { client, clock, random, logger, host, requestsPerSecond } = options;
    this.#trimmer = new PodTrimmer((nodeName) => host(nodeName) !== undefined);
    this.#queue = new WorkQueue({ clock, random, backoff: { initial: 200, max: 10_000 } });
    this.#bucket = requestsPerSecond
      ? new TokenBucket({ burst: requestsPerSecond, perSecond: requestsPerSecond, clock })
      : undefined;
    this.#cache = new Cache({
      client,
      clock,
      random,
      logger,
      kind: Pod,
      scope: { fieldSelector: "spec.nodeName!=" },
      transform: (pod) => this.#withoutStatus(pod),
      timing: FLEET_TIMING,
      omitManagedFields: true,
      indexers: { node: byNode },
    });
    this.#cache.addHandler({
      onAdd: (pod) => this.#take(this.#withStatus(pod)),
      onUpdate: (_, pod) => this.#take(this.#withStatus(pod)),
      onDelete: (pod) => this.#forget(pod),
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  /** How many requests about pods have been begun. */
  get requests(): number {
    return this.#requests;
  }

  /** Whether the pods are known. */
  get hasSynced(): boolean {
    return this.#cache.hasSynced;
  }

  /** Pods of a node, as far as the simulation keeps them. */
  on(nodeName: string): LivingPod[] {
    return this.#cache.byIndex("node", nodeName).flatMap((pod) => {
      const entry = this.#entries.get(keyTextOf(pod));
      const host = this.#options.host(nodeName);
      if (entry?.life === undefined || host === undefined) return [];
      const settings = settingsOf(entry.pod, this.#options.rules());
      const life = structuredClone(entry.life);
      const status = () =>
        entry.pod.status ?? this.#simulate({ ...entry, life }, host, this.#options.clock.now()).status;
      return { pod: entry.pod, life, settings, status };
    });
  }

  /** Looks at all pods of a node again: it has come back, or its rules have changed. */
  wake(nodeName: string): void {
    for (const pod of this.#cache.byIndex("node", nodeName)) {
      const entry = this.#entries.get(keyTextOf(pod));
      if (entry !== undefined) entry.wakeAt = 0;
      else {
        // Of a node that was not of the fleet when the pod was seen nothing was kept.
        this.#take(pod);
        const fresh = this.#entries.get(keyTextOf(pod));
        if (fresh !== undefined) fresh.isAtRest = true;
      }
      this.#queue.add(keyTextOf(pod));
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { parallel = 24 } = this.#options;
    const workers = Array.from({ length: parallel }, () => this.#work(signal));
    await Promise.all([this.#cache.run(signal), ...workers]);
  }

  /** The cache keeps no statuses: they wait beside it for the handler that comes next. */
  #withoutStatus(raw: Pod): Pod {
    const { status, ...kept } = this.#trimmer.trim(raw);
    if (status !== undefined) this.#statuses.set(kept, status);
    return kept;
  }

  #withStatus(kept: Pod): Pod {
    const status = this.#statuses.get(kept);
    this.#statuses.delete(kept);
    return status === undefined ? kept : { ...kept, status };
  }

  #take(pod: Pod): void {
    if (this.#options.host(pod.spec?.nodeName ?? "") === undefined) return;
    const key = keyTextOf(pod);
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.pod.metadata.uid === pod.metadata.uid) this.#notice(entry, pod);
    else {
      if (entry !== undefined) this.#release(entry);
      this.#entries.set(key, { pod, life: undefined, settled: "", wakeAt: 0, isConcluded: false, isAtRest: false });
      this.#claim(pod);
    }
    if (entry?.settled !== pod.metadata.resourceVersion) this.#queue.add(key);
  }

  #claim({ status }: Pod): void {
    if (status?.podIP !== undefined) this.#options.addresses.claim(status.podIP);
  }

  /** What was answered to a write may be newer than what the watch has brought. */
  #notice(entry: Entry, pod: Pod): void {
    const order = compareResourceVersions(pod.metadata.resourceVersion ?? "", entry.pod.metadata.resourceVersion ?? "");
    if ((order ?? 0) < 0) return;
    entry.pod = pod;
    if (entry.isAtRest && entry.settled === pod.metadata.resourceVersion) drop(entry);
    else entry.isAtRest = false;
  }

  #forget(pod: Pod): void {
    const key = keyTextOf(pod);
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.pod.metadata.uid !== pod.metadata.uid) return;
    this.#release(entry);
    this.#entries.delete(key);
    this.#queue.forget(key);
  }

  #release({ life, pod }: Entry): void {
    const address = life?.sandbox?.address || pod.status?.podIP;
    if (address) this.#options.addresses.release(address);
  }

  async #work(signal: AbortSignal): Promise<void> {
    // Whoever is there has its address before others are given theirs.
    await this.#cache.waitForSync(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    for (let key = await this.#queue.next(signal); key !== undefined; key = await this.#queue.next(signal)) {
      try {
        await this.#look(key, signal);
        this.#queue.forget(key);
      } catch (error) {
        if (!signal.aborted) this.#retry(key, error);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  #retry(key: string, error: unknown): void {
    if (this.#queue.failures(key) === 0) {
      this.#options.logger.warn("cannot report a simulated pod, trying again", {
        pod: key,
        error: describeError(error),
      });
    }
    this.#queue.addRateLimited(key);
  }

  async #look(key: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.isConcluded) return;
    const host = this.#options.host(entry.pod.spec?.nodeName ?? "");
    if (host === undefined || host.isAway) return;
    if (this.#isSettled(entry)) {
      // Timers may run a little ahead of the clock: what is not due yet must not be forgotten.
      const left = entry.wakeAt - this.#options.clock.now();
      if (Number.isFinite(left)) this.#queue.addAfter(key, Math.max(left, 1));
      return;
    }
    if (entry.isAtRest && !(await this.#fetch(entry, signal))) return;
    const { pod } = entry;
    const now = this.#options.clock.now();
    // Until the API has heard of what comes next: a write that fails is tried again.
    entry.settled = "";
    const result = this.#simulate(entry, host, now);
    if (Number.isFinite(result.wakeAt)) this.#queue.addAfter(key, result.wakeAt - now);
    entry.wakeAt = result.wakeAt;
    if (result.ended && pod.metadata.deletionTimestamp !== undefined) return this.#conclude(entry, result, signal);
    if (isNews(pod, result.status)) await this.#write(entry, result.status, signal);
    else entry.settled = pod.metadata.resourceVersion ?? "";
    if (entry.wakeAt === Infinity && this.#isSettled(entry)) {
      entry.isAtRest = true;
      drop(entry);
    }
  }

  #isSettled({ settled, wakeAt, pod }: Entry): boolean {
    return settled === pod.metadata.resourceVersion && this.#options.clock.now() < wakeAt;
  }

  /** Reads what was dropped; false where the pod is gone. */
  async #fetch(entry: Entry, signal: AbortSignal): Promise<boolean> {
    await this.#pass(signal);
    const pod = await this.#options.client.get(Pod, keyOf(entry.pod), { signal }).catch(ifNotFound);
    if (pod?.metadata.uid !== entry.pod.metadata.uid || pod === undefined) return false;
    entry.settled = "";
    this.#notice(entry, this.#trimmer.trim(pod));
    this.#claim(pod);
    return true;
  }

  #simulate(entry: Entry, { address }: PodHost, now: number): SimulationResult {
    const { rules, addresses, timing } = this.#options;
    const { pod } = entry;
    entry.life ??= restoreLife(pod);
    const objections = settingObjections(pod);
    const settings = settingsOf(objections.length > 0 ? withoutAnnotations(pod) : pod, rules());
    return simulatePod({
      pod,
      life: entry.life,
      settings,
      objections,
      now,
      hostIPs: [address],
      takeAddress: () => addresses.take(),
      timing,
    });
  }

  async #write(entry: Entry, status: PodStatus, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { pod } = entry;
    await this.#pass(signal);
    try {
      const patch = statusPatch(pod.metadata.uid ?? "", status);
      const answer = await client.patch(Pod, keyOf(pod), "strategic", patch, { subresource: "status", signal });
      const written = this.#trimmer.trim(answer);
      this.#notice(entry, written);
      // What others changed just before, such as a deletion, is in the answer too, and still to be looked at.
      if (isSameWish(pod, written)) entry.settled = written.metadata.resourceVersion ?? "";
    } catch (error) {
      // Gone, or another pod by now: the watch will tell.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /**
   * Deletes the pod for good. Its last status is of use only where something still holds the pod: else it would be gone
   * before anyone could look at it.
   */
  async #conclude(entry: Entry, { status }: SimulationResult, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { uid = "", finalizers = [] } = entry.pod.metadata;
    if (finalizers.length > 0 && isNews(entry.pod, status)) await this.#write(entry, status, signal);
    await this.#pass(signal);
    try {
      await client.delete(Pod, keyOf(entry.pod), { gracePeriodSeconds: 0, preconditions: { uid }, signal });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    entry.isConcluded = true;
  }

  /** Waits until another request may be begun. */
  async #pass(signal: AbortSignal): Promise<void> {
    this.#requests++;
    const wait = this.#bucket?.reserve() ?? 0;
    if (wait > 0) await sleep(this.#options.clock, wait, signal);
  }
}

function drop(entry: Entry): void {
  const { apiVersion, kind, metadata, spec } = entry.pod;
  entry.pod = { apiVersion, kind, metadata, ...(spec && { spec }) };
  // An equal text, but the one that the pod has anyway.
  entry.settled = metadata.resourceVersion ?? "";
  // A list that has grown keeps room for more; its copy does not.
  if (entry.life !== undefined) entry.life.containers = entry.life.containers.slice();
}

function isNews(pod: Pod, status: PodStatus): boolean {
  return !isReported(pod.status, status) && !wouldRevive(pod.status, status);
}

/** Whether both ask for the same. Equal parts of pods that were trimmed are the same ones. */
function isSameWish(one: Pod, other: Pod): boolean {
  const [a, b] = [one.metadata, other.metadata];
  return (
    one.spec === other.spec &&
    a.labels === b.labels &&
    a.annotations === b.annotations &&
    a.deletionTimestamp === b.deletionTimestamp &&
    a.deletionGracePeriodSeconds === b.deletionGracePeriodSeconds
  );
}

function withoutAnnotations(pod: Pod): Pod {
  const { annotations: _, ...metadata } = pod.metadata;
  return { ...pod, metadata };
}

function keyOf(pod: Pod): { name: string; namespace: string } {
  return { name: pod.metadata.name ?? "", namespace: pod.metadata.namespace ?? "" };
}
