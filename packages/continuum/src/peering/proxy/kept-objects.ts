import { type Clock, describeError, type Logger } from "@fjord/base";
import { forbidden } from "./kube-refusal.ts";
import { larger, type Outcome, OverlappingWrites } from "./overlapping-writes.ts";

/** How much one tenant may keep in the own API. */
export interface KeptLimits {
  readonly objects: number;
  readonly bytes: number;
}

export interface KeptObjectsOptions {
  /** What it has and what it may have, for the words of a refusal. */
  readonly words: (has: KeptLimits, may: KeptLimits) => string;
  /** The owner's limits, as they are now. */
  readonly limits: () => KeptLimits;
  /** What the API has now: the bytes of each object, by its key. */
  readonly count: () => Promise<ReadonlyMap<string, number>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * What a write does to the bytes of an object that is there: has others in their place, has more beside them, or has as many at least, where
 * what it no longer speaks of goes later and by another way.
 */
export type Change = "replaces" | "adds" | "raises";

/** Gives the bytes that were written, as far as is known. */
export type Settle = (outcome: Outcome) => number;

/** For so long a full tenant is refused on the word of the last count; longer where to count took long. */
const COUNT_AGAIN_MS = 5_000;
const COUNT_SHARE = 20;

/**
 * The objects that one tenant keeps in the own API, by what passes the proxy: it is the only way in. What goes without
 * passing it, such as with a namespace, is found by counting, which is done at first and when the room seems to be used up.
 */
export class KeptObjects {
  readonly #options: KeptObjectsOptions;
  #sizes = new Map<string, number>();
  #bytes = 0;
  /** Writes under way, by their object: a count may not have seen what they leave. */
  readonly #underWay = new Map<string, OverlappingWrites>();
  /** What was written while a count goes on, which may have looked before, and whether that is the least: what is found is there as well. */
  readonly #meanwhile = new Map<string, boolean>();
  #counting: Promise<void> | undefined;
  #isCounted = false;
  #countAgainAt = 0;

  constructor(options: KeptObjectsOptions) {
    this.#options = options;
  }

  /** Takes room for a write that sends this many bytes, until it is told what has become of it. Throws `KubeRefusal`. */
  admit(key: string, change: Change, asked: number): Settle | Promise<Settle> {
    // What is less than nothing would make room for others.
    const bytes = Math.max(0, asked);
    // The first is not kept waiting: what is there already is known a moment later.
    if (!this.#isCounted && this.#isDue()) void this.#count();
    if (this.#hasRoom(key, change, bytes)) return this.#take(key, change, bytes);
    if (!this.#isDue()) throw this.#refusal();
    return this.#count().then(() => {
      if (!this.#hasRoom(key, change, bytes)) throw this.#refusal();
      return this.#take(key, change, bytes);
    });
  }

  /** A deletion needs no room. */
  settleDeletion(key: string): Settle {
    const settle = this.#begin(key);
    return (outcome) => {
      settle(outcome);
      return 0;
    };
  }

  #hasRoom(key: string, change: Change, bytes: number): boolean {
    const { objects, bytes: mostBytes } = this.#options.limits();
    const before = this.#sizes.get(key);
    if (before === undefined) return this.#sizes.size < objects && this.#bytes + bytes <= mostBytes;
    const grows = change === "adds" ? bytes : bytes - before;
    return grows <= 0 || this.#bytes + grows <= mostBytes;
  }

  #take(key: string, change: Change, bytes: number): Settle {
    const taken = change === "adds" ? (this.#sizes.get(key) ?? 0) + bytes : bytes;
    const settle = this.#begin(key, taken, change === "raises");
    return (outcome) => {
      settle(outcome);
      if (outcome === "unknown") return taken;
      return typeof outcome === "object" ? outcome.kept : 0;
    };
  }

  /** Without bytes it is a deletion. */
  #begin(key: string, bytes?: number, raises?: boolean): (outcome: Outcome) => void {
    const writes = this.#underWay.get(key) ?? new OverlappingWrites(this.#sizes.get(key));
    this.#underWay.set(key, writes);
    writes.begin(bytes);
    this.#set(key, writes.bytes, raises);
    return (outcome) => {
      writes.end(bytes, outcome, raises);
      if (writes.over) this.#underWay.delete(key);
      this.#set(key, writes.bytes, raises || outcome === "undone");
    };
  }

  #set(key: string, bytes: number | undefined, isLeast = false): void {
    this.#bytes += (bytes ?? 0) - (this.#sizes.get(key) ?? 0);
    if (bytes === undefined) this.#sizes.delete(key);
    else this.#sizes.set(key, bytes);
    if (this.#counting !== undefined) this.#meanwhile.set(key, isLeast);
  }

  #isDue(): boolean {
    const { clock } = this.#options;
    return this.#counting !== undefined || clock.now() >= this.#countAgainAt;
  }

  #count(): Promise<void> {
    this.#counting ??= this.#countNow().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  async #countNow(): Promise<void> {
    const { count, clock, logger } = this.#options;
    const began = clock.now();
    this.#meanwhile.clear();
    try {
      const found = await count();
      this.#isCounted = true;
      const before = this.#sizes;
      const newer = [...this.#meanwhile];
      this.#sizes = new Map(found);
      this.#bytes = found.values().reduce((sum, bytes) => sum + bytes, 0);
      for (const [key, isLeast] of newer)
        this.#set(key, isLeast ? larger(before.get(key), found.get(key)) : before.get(key));
      for (const [key, writes] of this.#underWay) {
        writes.found(found.get(key));
        this.#set(key, writes.bytes);
      }
    } catch (error) {
      logger.warn("a tenant's objects could not be counted", { error: describeError(error) });
    }
    const now = clock.now();
    this.#countAgainAt = now + Math.max(COUNT_AGAIN_MS, (now - began) * COUNT_SHARE);
  }

  #refusal(): Error {
    const { words, limits } = this.#options;
    return forbidden(
      `quota exceeded: this consumer has ${words({ objects: this.#sizes.size, bytes: this.#bytes }, limits())}`,
    );
  }
}
