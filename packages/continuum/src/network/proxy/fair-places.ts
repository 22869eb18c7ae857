/**
 * A number of places of which nobody holds more than are still free: one holder alone has half of them, two have a third each, and whoever
 * comes after them finds some too.
 */
export class FairPlaces {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get taken(): number {
    return this.#taken;
  }

  /** One more for the holder, to be given back; undefined where it has to wait. */
  take(holder: string): (() => void) | undefined {
    if ((this.#held.get(holder) ?? 0) >= this.#most - this.#taken) return undefined;
    this.#add(holder, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#add(holder, -1);
      isTaken = false;
    };
  }

  #add(holder: string, change: number): void {
    this.#taken += change;
    const held = (this.#held.get(holder) ?? 0) + change;
    if (held === 0) this.#held.delete(holder);
    else this.#held.set(holder, held);
  }
}
