import type { Clock } from "@fjord/base";

export interface SlowWorkOptions {
  /** On whom the work for a key waits; undefined: on nobody in particular. */
  readonly waitsOn: (key: string) => string | undefined;
  /** How much of what waits on one may be under way while that one is slow. */
  readonly most: number;
  readonly clock: Clock;
  /** What is under way takes long: somebody is to work in its place. */
  readonly onSlow: () => void;
  /** It is the turn of a key that was set aside. */
  readonly release: (key: string) => void;
}

/** Work that takes longer waits on somebody who takes their time, or does not answer at all. */
const SLOW_MS = 1_000;

interface Party {
  running: number;
  /** Of these, what takes long. */
  slow: number;
  readonly aside: Set<string>;
}

/** Keeps work that waits on one party, which may never answer, from holding up what waits on others. */
export class SlowWork {
  readonly #options: SlowWorkOptions;
  readonly #parties = new Map<string, Party>();

  constructor(options: SlowWorkOptions) {
    this.#options = options;
  }

  /**
   * Work for a key is to begin. What is to be called when it is over, which says whether somebody has been put in its place; undefined where it is
   * set aside, as enough waits on that party.
   */
  begin(key: string): (() => boolean) | undefined {
    const { waitsOn, most, clock, onSlow } = this.#options;
    const name = waitsOn(key);
    if (name === undefined) return () => false;
    const party = this.#parties.get(name) ?? { running: 0, slow: 0, aside: new Set() };
    if (party.slow > 0 && party.running >= most) {
      party.aside.add(key);
      return undefined;
    }
    this.#parties.set(name, party);
    party.running++;
    let isSlow = false;
    const cancel = clock.after(SLOW_MS, () => {
      isSlow = true;
      party.slow++;
      onSlow();
    });
    return () => {
      cancel();
      party.running--;
      if (isSlow) party.slow--;
      this.#release(name, party);
      return isSlow;
    };
  }

  #release(name: string, { running, slow, aside }: Party): void {
    const free = slow > 0 ? this.#options.most - running : aside.size;
    const next = [...aside].slice(0, free);
    for (const key of next) aside.delete(key);
    if (running === 0 && aside.size === 0) this.#parties.delete(name);
    for (const key of next) this.#options.release(key);
  }
}
