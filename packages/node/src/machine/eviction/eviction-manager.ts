import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { formatBytes, qosClass } from "@fjord/kube";
import type { ConditionFacts } from "../../registration/node-facts.ts";
import { type Pressure, pressureConditions, pressureOf } from "./pressure.ts";
import { excessOf, isCritical, type PodUsage, rankForEviction } from "./rank.ts";
import { amountOf, crossed, type Observation, type Observations, type Signal, type Threshold } from "./thresholds.ts";

export interface EvictionManagerOptions {
  readonly thresholds: readonly Threshold[];
  readonly observe: () => Promise<Observations>;
  /** Pods that run, with what they use; asked for only when one has to go. */
  readonly usages: () => Promise<readonly PodUsage[]>;
  /** Pods that have outgrown their own limits of local storage, with the words for it. */
  readonly overLimits?: () => Promise<readonly { readonly pod: Pod; readonly message: string }[]>;
  /** Ends a pod: phase Failed, reason Evicted. */
  readonly evict: (pod: Pod, message: string, graceSeconds: number) => void;
  /** Whether an evicted pod still runs. */
  readonly isRunning: (podUid: string) => boolean;
  /** Frees disk without ending anything: unused images, dead containers. */
  readonly reclaim?: (signal: AbortSignal) => Promise<void>;
  /** Told when the conditions are others than before. */
  readonly changed: () => void;
  /** @default 10000 */
  readonly intervalMs?: number;
  /** How long a condition stays after what caused it is over, so that it does not flap. @default 300000 */
  readonly transitionMs?: number;
  /** The most that a pod gets to end by itself after a soft threshold. @default 0 */
  readonly maxGraceSeconds?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Hard thresholds cannot wait. */
const HARD_GRACE_SECONDS = 1;
const WAIT_MS = 30_000;

/** Ends pods before the machine runs out of something, one at a time, the least important first. */
export class EvictionManager {
  readonly #options: Required<Omit<EvictionManagerOptions, "reclaim" | "overLimits">> &
    Pick<EvictionManagerOptions, "reclaim" | "overLimits">;
  readonly #since = new Map<Threshold, number>();
  readonly #lastSeen = new Map<Pressure, number>();
  #present: ReadonlySet<Pressure> = new Set();

  constructor(options: EvictionManagerOptions) {
    this.#options = { intervalMs: 10_000, transitionMs: 300_000, maxGraceSeconds: 0, ...options };
  }

  /** Memory, disk and process ids, for the Node. */
  conditions(): ConditionFacts[] {
    return pressureConditions(this.#present);
  }

  /** Why no pod like this one is let in now; undefined where it is. */
  refusal(pod: Pod): string | undefined {
    if (this.#present.size === 0 || isCritical(pod)) return undefined;
    const onlyMemory = this.#present.size === 1 && this.#present.has("MemoryPressure");
    // Whoever asked for memory is served before those who did not.
    if (onlyMemory && (qosClass(pod) !== "BestEffort" || toleratesMemoryPressure(pod))) return undefined;
    return `The node had condition: [${[...this.#present].join(", ")}]. `;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs, logger } = this.#options;
    while (!signal.aborted) {
      try {
        const evicted = await this.round(signal);
        if (evicted !== undefined) await this.#wait(evicted, signal);
      } catch (error) {
        if (!signal.aborted) logger.error("cannot see whether the node runs short", { error: describeError(error) });
      }
      await sleep(clock, intervalMs, signal);
    }
  }

  /** Looks once; gives the uid of the pod that has to go, if one has to. */
  async round(signal: AbortSignal): Promise<string | undefined> {
    const tooBig = await this.#evictOverLimits();
    if (tooBig !== undefined) return tooBig;
    const due = this.#judge(await this.#options.observe());
    const [worst] = due;
    if (worst === undefined) return undefined;
    const { reclaim, observe } = this.#options;
    if (pressureOf(worst.signal) === "DiskPressure" && reclaim !== undefined) {
      await reclaim(signal);
      if (this.#judge(await observe()).length === 0) return undefined;
    }
    return this.#evictFor(worst, (await observe()).get(worst.signal));
  }

  /** Notes what is crossed, and gives what has been for long enough: memory first, hard ones before soft ones. */
  #judge(observations: Observations): Threshold[] {
    const { clock, thresholds } = this.#options;
    const now = clock.now();
    const met = crossed(thresholds, observations, new Set(this.#since.keys()));
    for (const threshold of [...this.#since.keys()]) if (!met.includes(threshold)) this.#since.delete(threshold);
    for (const threshold of met) if (!this.#since.has(threshold)) this.#since.set(threshold, now);
    for (const { signal } of met) this.#lastSeen.set(pressureOf(signal), now);
    this.#setConditions(now);
    const due = met.filter((threshold) => now - (this.#since.get(threshold) ?? now) >= threshold.graceMs);
    return due.sort((a, b) => order(a.signal) - order(b.signal) || a.graceMs - b.graceMs);
  }

  #setConditions(now: number): void {
    const { transitionMs, changed, logger } = this.#options;
    const recent = [...this.#lastSeen].filter(([, at]) => at === now || now - at < transitionMs);
    const present = new Set(recent.map(([pressure]) => pressure));
    const same = present.size === this.#present.size && [...present].every((each) => this.#present.has(each));
    this.#present = present;
    if (same) return;
    logger.warn("the pressure on the node has changed", { pressures: [...present] });
    changed();
  }

  async #evictOverLimits(): Promise<string | undefined> {
    const { overLimits, evict, logger } = this.#options;
    // A volume that cannot be measured must not keep the machine from being watched.
    const over = await overLimits?.().catch((error: unknown) => {
      logger.warn("cannot see whether pods keep to their limits of storage", { error: describeError(error) });
      return [];
    });
    const [first] = over ?? [];
    if (first === undefined) return undefined;
    evict(first.pod, first.message, HARD_GRACE_SECONDS);
    return first.pod.metadata.uid;
  }

  async #evictFor(threshold: Threshold, seen: Observation | undefined): Promise<string | undefined> {
    const { usages, evict, logger, maxGraceSeconds } = this.#options;
    const [first] = rankForEviction(await usages(), threshold.signal);
    if (first === undefined || seen === undefined) {
      logger.error("the node runs short and has no pod that may be evicted", { signal: threshold.signal });
      return undefined;
    }
    const own = first.pod.spec?.terminationGracePeriodSeconds ?? 30;
    const grace = threshold.graceMs === 0 ? HARD_GRACE_SECONDS : Math.min(own, maxGraceSeconds);
    const message = evictionMessage(threshold, seen, first);
    logger.warn("evicting a pod", { pod: `${first.pod.metadata.namespace}/${first.pod.metadata.name}`, message });
    evict(first.pod, message, grace);
    return first.pod.metadata.uid;
  }

  /** What a pod held comes free only once it has ended; the next look should see that. */
  async #wait(podUid: string, signal: AbortSignal): Promise<void> {
    const { clock, isRunning } = this.#options;
    for (const end = clock.now() + WAIT_MS; isRunning(podUid) && clock.now() < end && !signal.aborted; ) {
      await sleep(clock, 500, signal);
    }
  }
}

const resources: Readonly<Record<Signal, string>> = {
  "memory.available": "memory",
  "nodefs.available": "ephemeral-storage",
  "imagefs.available": "ephemeral-storage",
  "nodefs.inodesFree": "inodes",
  "imagefs.inodesFree": "inodes",
  "pid.available": "pids",
};

/** What the pod's status and its event say. */
export function evictionMessage({ signal, below }: Threshold, seen: Observation, usage: PodUsage): string {
  const resource = resources[signal];
  const excess = excessOf(usage, signal);
  const counted = signal.endsWith("available") && signal !== "pid.available";
  const show = (amount: number) => (counted ? formatBytes(Math.floor(amount)) : String(Math.floor(amount)));
  const why = excess > 0 ? ` The pod uses ${show(excess)} more of it than it asked for.` : "";
  const threshold = show(amountOf(below, seen.capacity));
  return `The node was low on resource: ${resource}. Threshold quantity: ${threshold}, available: ${show(seen.available)}.${why}`;
}

/** Memory kills soonest. */
function order(signal: Signal): number {
  return ["MemoryPressure", "PIDPressure", "DiskPressure"].indexOf(pressureOf(signal));
}

function toleratesMemoryPressure({ spec }: Pod): boolean {
  return (spec?.tolerations ?? []).some(
    ({ key, operator, effect }) =>
      (key === "node.kubernetes.io/memory-pressure" || (!key && operator === "Exists")) &&
      (!effect || effect === "NoSchedule"),
  );
}
