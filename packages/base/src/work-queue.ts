import { onAbort } from "./abort.ts";
import { backoffDelay } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import { TokenBucket } from "./token-bucket.ts";
import { WorkQueueDelays } from "./work-queue-delays.ts";

export interface WorkQueueOptions {
  clock: Clock;
  random: Random;
  /** How long a key waits after each failure in a row. @default 5 ms doubling up to 1000 s, with jitter */
  backoff?: { initial?: number; max?: number; factor?: number; jitter?: number };
  /** Bounds the retries of all keys together. @default no bound */
  retryRate?: { burst: number; perSecond: number };
  observer?: WorkQueueObserver;
}

/** What metrics hang on. Times are in milliseconds. */
export interface WorkQueueObserver {
  /** A key became wanted; not called when it already was. */
  added?(depth: number): void;
  /** A worker took a key that had been ready for `waited`. */
  taken?(waited: number, depth: number): void;
  /** A worker finished a key. */
  done?(worked: number): void;
  /** A key failed and will be tried again. */
  retried?(): void;
}

/**
 * Keys to work on: each waits at most once, is given to one worker at a time, and, when added while a worker has it,
 * is given out once more afterwards. Whoever takes a key by `next` must call `done` with it.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #backoff: { initial: number; max: number; factor?: number; jitter?: number; random: Random };
  readonly #bucket: TokenBucket | undefined;
  readonly #observer: WorkQueueObserver;
  readonly #delays: WorkQueueDelays;
  readonly #ready = new Fifo<string>();
  /** Keys that are wanted, with the time since when: those that are ready, and those to be redone after `done`. */
  readonly #wanted = new Map<string, number>();
  /** Keys that a worker has, with the time since when. */
  readonly #running = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  /** Workers that wait, in the order they came. */
  readonly #waiting = new Set<Waiting>();
  /** How often each signal is waited under. It is listened to once: signals look at all their listeners each time. */
  readonly #signals = new Map<AbortSignal, { workers: number; readonly stopListening: () => void }>();
  #drained: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#backoff = { initial: 5, max: 1_000_000, ...options.backoff, random: options.random };
    this.#bucket = options.retryRate && new TokenBucket({ ...options.retryRate, clock: options.clock });
    this.#observer = options.observer ?? {};
    this.#delays = new WorkQueueDelays(options.clock, (key) => this.add(key));
  }

  /** Keys ready for a worker. */
  get depth(): number {
    return this.#ready.length;
  }

  /** Keys that wait for their time. */
  get delayed(): number {
    return this.#delays.size;
  }

  /** Keys that workers have now. */
  get running(): number {
    return this.#running.size;
  }

  get isShutDown(): boolean {
    return this.#drained !== undefined;
  }

  /** Milliseconds that workers have spent so far on what they have now, and on the oldest of it. */
  unfinished(): { total: number; longest: number } {
    const now = this.#clock.now();
    let total = 0;
    let longest = 0;
    for (const since of this.#running.values()) {
      total += now - since;
      longest = Math.max(longest, now - since);
    }
    return { total, longest };
  }

  add(key: string): void {
    if (this.isShutDown || this.#wanted.has(key)) return;
    this.#wanted.set(key, this.#clock.now());
    if (!this.#running.has(key)) this.#ready.push(key);
    this.#observer.added?.(this.depth);
    this.#handOut();
  }

  /** Adds the key after `ms`; of several such wishes the earliest holds. */
  addAfter(key: string, ms: number): void {
    if (this.isShutDown) return;
    if (ms > 0) this.#delays.add(key, ms);
    else this.add(key);
  }

  /** Adds the key after a delay that grows with each failure in a row, until `forget`. */
  addRateLimited(key: string): void {
    if (this.isShutDown) return;
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    this.#observer.retried?.();
    this.addAfter(key, Math.max(backoffDelay(failures, this.#backoff), this.#bucket?.reserve() ?? 0));
  }

  /** How often in a row the key has failed. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The key succeeded, or is given up: its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, as soon as there is one; undefined once `signal` aborts or the queue is shut down and empty. */
  next(signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted || this.#finished) return Promise.resolve(undefined);
    // Whoever waits has been given what was ready: nobody is passed over, and nothing has to be listened for.
    const ready = this.#ready.shift();
    if (ready !== undefined) {
      this.#take(ready);
      return Promise.resolve(ready);
    }
    return new Promise((resolve) => {
      this.#listen(signal);
      this.#waiting.add({ signal, resolve });
    });
  }

  /** The worker is finished with the key, however it went. */
  done(key: string): void {
    const since = this.#running.get(key);
    if (since === undefined) return;
    this.#running.delete(key);
    this.#observer.done?.(this.#clock.now() - since);
    if (this.#wanted.has(key)) this.#ready.push(key);
    this.#handOut();
  }

  /**
   * Takes nothing more and drops what waits for its time. Workers are still given what is ready; the promise resolves
   * when they are done with it.
   */
  shutDown(): Promise<void> {
    if (this.#drained === undefined) {
      this.#drained = Promise.withResolvers<void>();
      this.#delays.clear();
      this.#handOut();
    }
    return this.#drained.promise;
  }

  get #finished(): boolean {
    return this.isShutDown && this.#wanted.size === 0;
  }

  #handOut(): void {
    for (const waiting of this.#waiting) {
      const key = this.#ready.shift();
      if (key === undefined) break;
      this.#take(key);
      this.#give(waiting, key);
    }
    if (!this.#finished) return;
    for (const waiting of this.#waiting) this.#give(waiting, undefined);
    if (this.#running.size === 0) this.#drained?.resolve();
  }

  #give(waiting: Waiting, key: string | undefined): void {
    this.#waiting.delete(waiting);
    const listened = this.#signals.get(waiting.signal);
    if (listened !== undefined && --listened.workers === 0) {
      listened.stopListening();
      this.#signals.delete(waiting.signal);
    }
    waiting.resolve(key);
  }

  #listen(signal: AbortSignal): void {
    const listened = this.#signals.get(signal);
    if (listened !== undefined) {
      listened.workers++;
      return;
    }
    const stopListening = onAbort(signal, () => {
      for (const waiting of this.#waiting) if (waiting.signal === signal) this.#give(waiting, undefined);
    });
    this.#signals.set(signal, { workers: 1, stopListening });
  }

  #take(key: string): void {
    const now = this.#clock.now();
    const since = this.#wanted.get(key) ?? now;
    this.#wanted.delete(key);
    this.#running.set(key, now);
    this.#observer.taken?.(now - since, this.depth);
  }
}

/** A worker without work. */
interface Waiting {
  readonly signal: AbortSignal;
  readonly resolve: (key: string | undefined) => void;
}

/** First in, first out, each step in constant time. */
class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head++];
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
