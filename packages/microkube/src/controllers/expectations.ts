import type { Clock } from "@fjord/base";

/** After so long the cache is believed again, whatever was expected of it. */
const FORGET_AFTER_MS = 5 * 60_000;

interface Expected {
  creations: number;
  readonly deletions: Set<string>;
  since: number;
}

/**
 * What a controller has done and its cache has not shown yet, by the owner's uid. Acting on a cache that is behind would
 * make pods twice; so a controller acts only while nothing is expected.
 */
export class Expectations {
  readonly #clock: Clock;
  readonly #expected = new Map<string, Expected>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call it before creating: the cache may show the object before the create returns. */
  expectCreations(owner: string, count: number): void {
    if (count > 0) this.#of(owner).creations += count;
  }

  /** By the uids of what is about to be deleted. */
  expectDeletions(owner: string, uids: Iterable<string>): void {
    const { deletions } = this.#of(owner);
    for (const uid of uids) deletions.add(uid);
  }

  /** Seen in the cache, or never made. */
  creationObserved(owner: string): void {
    const expected = this.#expected.get(owner);
    if (expected === undefined) return;
    if (expected.creations > 0) expected.creations--;
    this.#settle(owner, expected);
  }

  /** Seen in the cache as gone or going, or not deleted after all. Each uid counts once. */
  deletionObserved(owner: string, uid: string): void {
    const expected = this.#expected.get(owner);
    if (expected?.deletions.delete(uid)) this.#settle(owner, expected);
  }

  satisfied(owner: string): boolean {
    const expected = this.#expected.get(owner);
    if (expected === undefined) return true;
    if (this.#clock.now() - expected.since < FORGET_AFTER_MS) return false;
    this.#expected.delete(owner);
    return true;
  }

  forget(owner: string): void {
    this.#expected.delete(owner);
  }

  #of(owner: string): Expected {
    let expected = this.#expected.get(owner);
    if (expected === undefined) {
      expected = { creations: 0, deletions: new Set(), since: 0 };
      this.#expected.set(owner, expected);
    }
    expected.since = this.#clock.now();
    return expected;
  }

  #settle(owner: string, { creations, deletions }: Expected): void {
    if (creations === 0 && deletions.size === 0) this.#expected.delete(owner);
  }
}
