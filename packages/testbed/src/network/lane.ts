import type { Clock, Random } from "@fjord/base";

/** How one direction between two sites behaves. */
export interface LaneShape {
  /** Milliseconds that a byte is on its way. */
  readonly latency: number;
  /** Up to this many milliseconds more, at random. Order is kept. */
  readonly jitter: number;
  /** Bytes a second, for all connections together; Infinity for no limit. */
  readonly bandwidth: number;
}

export const clearLane: LaneShape = { latency: 0, jitter: 0, bandwidth: Number.POSITIVE_INFINITY };

/** One direction between two sites: every byte from the one to the other passes here, whoever opened the connection. */
export class Lane {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #listeners = new Set<() => void>();
  #shape = clearLane;
  #cut = false;
  /** When the last byte that was accepted will have left. */
  #free = 0;
  #delivered = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get shape(): LaneShape {
    return this.#shape;
  }

  /** While cut, nothing arrives and nothing is lost: a sender cannot tell it from a peer that is silent. */
  get cut(): boolean {
    return this.#cut;
  }

  /** Bytes that have arrived. */
  get delivered(): number {
    return this.#delivered;
  }

  change(shape: Partial<LaneShape>): void {
    this.#shape = { ...this.#shape, ...shape };
    this.#free = 0;
    this.#notify();
  }

  setCut(cut: boolean): void {
    this.#cut = cut;
    this.#notify();
  }

  /** Puts `size` bytes on the lane; gives the time at which they arrive. */
  send(size: number): number {
    const { latency, jitter, bandwidth } = this.#shape;
    const now = this.#clock.now();
    this.#free = Math.max(this.#free, now) + (size / bandwidth) * 1000;
    return this.#free + latency + jitter * this.#random();
  }

  /** Milliseconds until what was sent has left. A sender that waits for it to be short leaves room for others. */
  get backlog(): number {
    return Math.max(0, this.#free - this.#clock.now());
  }

  /** The most bytes to send as one, so that a slow lane carries a trickle and not a burst now and then. */
  get grain(): number {
    return Math.max(512, Math.min(65_536, Math.floor(this.#shape.bandwidth / 100)));
  }

  count(bytes: number): void {
    this.#delivered += bytes;
  }

  /** Calls back on each change until the function returned is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the lane is not cut, or as soon as `signal` aborts. */
  passable(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.#cut && !signal.aborted) return;
        stop();
        signal.removeEventListener("abort", look);
        resolve();
      };
      const stop = this.onChange(look);
      signal.addEventListener("abort", look, { once: true });
      look();
    });
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
