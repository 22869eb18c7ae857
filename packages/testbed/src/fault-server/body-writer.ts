import type { ServerResponse } from "node:http";
import { type Clock, type Random, sleep } from "@fjord/base";
import type { Fault } from "./fault.ts";

/** Writes a response body whole, in pieces or byte by byte, keeping the order whatever the pace. */
export class BodyWriter {
  readonly #response: ServerResponse;
  readonly #pace: { bytes: () => number; ms: number } | undefined;
  readonly #clock: Clock;
  #tail: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(response: ServerResponse, faults: readonly Fault[], clock: Clock, random: Random) {
    this.#response = response;
    this.#clock = clock;
    const trickle = faults.find((fault) => fault.type === "trickle");
    if (trickle !== undefined) this.#pace = { bytes: () => 1, ms: trickle.ms };
    else if (faults.some((fault) => fault.type === "split"))
      this.#pace = { bytes: () => 1 + Math.floor(random() * 40), ms: 0 };
  }

  write(text: string): void {
    if (this.#stopped) return;
    if (this.#pace === undefined) this.#response.write(text);
    else this.#tail = this.#tail.then(() => this.#writeSlowly(Buffer.from(text)));
  }

  end(): void {
    if (this.#stopped) return;
    if (this.#pace === undefined) this.#response.end();
    else this.#tail = this.#tail.then(() => void this.#response.end());
  }

  /** Nothing more is written. */
  stop(): void {
    this.#stopped = true;
  }

  async #writeSlowly(bytes: Buffer): Promise<void> {
    const pace = this.#pace;
    if (pace === undefined) return;
    for (let at = 0; at < bytes.length && this.#open; ) {
      const size = pace.bytes();
      this.#response.write(bytes.subarray(at, at + size));
      at += size;
      // A piece per turn of the loop, or the kernel joins what was split.
      if (pace.ms > 0) await sleep(this.#clock, pace.ms);
      else await new Promise((resolve) => setImmediate(resolve));
    }
  }

  get #open(): boolean {
    return !this.#stopped && !this.#response.destroyed;
  }
}
