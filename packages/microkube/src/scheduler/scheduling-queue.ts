import type { Clock } from "@fjord/base";
import type { PodFacts } from "./pod-facts.ts";

interface Entry {
  pod: PodFacts;
  /** How often in a row no node was found. */
  failures: number;
  /** When it may be tried again at the earliest. */
  notBefore: number;
  state: "ready" | "waiting" | "taken";
  order: number;
}

export interface SchedulingQueueOptions {
  readonly clock: Clock;
  /** @default 1000 */
  readonly initialBackoffMs?: number;
  /** @default 10000 */
  readonly maxBackoffMs?: number;
}

/**
 * Pods that want a node: the most important first, then the oldest. Those that found none wait until something in the
 * cluster has changed, each time a little longer.
 */
export class SchedulingQueue {
  readonly #options: SchedulingQueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<Entry>();
  #ready: Entry[] = [];
  #isSorted = true;
  #order = 0;
  #wake = Promise.withResolvers<void>();
  #cancelTimer: (() => void) | undefined;

  constructor(options: SchedulingQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A new pod, or a new version of one that waits: what has changed of it may be what it waited for. */
  set(pod: PodFacts): void {
    const entry = this.#entries.get(pod.uid);
    if (entry === undefined) {
      const fresh: Entry = { pod, failures: 0, notBefore: 0, state: "waiting", order: this.#order++ };
      this.#entries.set(pod.uid, fresh);
      this.#makeReady(fresh);
      return;
    }
    const specChanged = entry.pod.pod.metadata.generation !== pod.pod.metadata.generation;
    const labelsChanged = JSON.stringify(entry.pod.labels) !== JSON.stringify(pod.labels);
    entry.pod = pod;
    if (entry.state === "waiting" && (specChanged || labelsChanged)) this.#makeReady(entry);
  }

  delete(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    this.#entries.delete(uid);
    this.#waiting.delete(entry);
    entry.state = "taken";
  }

  /** Takes the next pod out; it stays known until `delete` or `failed`. */
  take(): PodFacts | undefined {
    if (!this.#isSorted) {
      this.#ready.sort((a, b) => a.pod.priority - b.pod.priority || b.order - a.order);
      this.#isSorted = true;
    }
    for (let entry = this.#ready.pop(); entry !== undefined; entry = this.#ready.pop()) {
      if (entry.state !== "ready") continue;
      entry.state = "taken";
      return entry.pod;
    }
    return undefined;
  }

  /** No node was found: the pod waits for a change. */
  failed(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    const { clock, initialBackoffMs = 1_000, maxBackoffMs = 10_000 } = this.#options;
    entry.notBefore = clock.now() + Math.min(maxBackoffMs, initialBackoffMs * 2 ** Math.min(entry.failures, 10));
    entry.failures++;
    entry.state = "waiting";
    this.#waiting.add(entry);
  }

  /** Something that could help has happened: all that wait are tried again, each once its time has come. */
  changed(): void {
    const now = this.#options.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const entry of this.#waiting) {
      if (entry.notBefore <= now) this.#makeReady(entry);
      else next = Math.min(next, entry.notBefore);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.clock.after(next - now, () => this.changed());
  }

  /** Resolves when there is something to take. */
  async wait(): Promise<void> {
    await this.#wake.promise;
    this.#wake = Promise.withResolvers();
  }

  close(): void {
    this.#cancelTimer?.();
    this.#wake.resolve();
  }

  #makeReady(entry: Entry): void {
    this.#waiting.delete(entry);
    entry.state = "ready";
    this.#ready.push(entry);
    this.#isSorted = false;
    this.#wake.resolve();
  }
}
