import type { Clock } from "@fjord/base";

/** Notices when nothing has come or gone for a time. */
export class IdleWatch {
  readonly #clock: Clock;
  #last: number;
  #stop: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = clock.now();
  }

  /** Something has come or gone. */
  touch(): void {
    this.#last = this.#clock.now();
  }

  start(timeoutMs: number, onIdle: () => void): void {
    const check = () => {
      const left = this.#last + timeoutMs - this.#clock.now();
      if (left <= 0) onIdle();
      else this.#stop = this.#clock.after(left, check);
    };
    this.#stop = this.#clock.after(timeoutMs, check);
  }

  stop(): void {
    this.#stop();
  }
}
