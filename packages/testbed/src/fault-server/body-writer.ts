import type { ServerResponse } from "node:http";
import { type Clock, type Random, sleep } from "@fjord/base";
import type { Fault } from "./fault.ts";

/** Writes a response body whole, in pieces or byte by byte, keeping the order whatever the pace. */
export class BodyWriter {
  readonly #response: ServerResponse;
  #pace: { bytes: () => number; ms: number } | undefined;
  readonly #clock: Clock;
  #tail: Promise<void> = Promise.resolve();
  #pending = 0;
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
    this.#inOrder(
      () => this.#writeSlowly(Buffer.from(text)),
      () => void this.#response.write(text),
    );
  }

  end(): void {
    const end = () => void this.#response.end();
    this.#inOrder(async () => end(), end);
  }

  /** Whether something is still being written. */
  get busy(): boolean {
    return this.#pending > 0;
  }

  /** Writes at full speed from here on. */
  hurry(): void {
    this.#pace = undefined;
  }

  /** Nothing more is written. */
  stop(): void {
    this.#stopped = true;
  }

  #inOrder(slowly: () => Promise<void>, atOnce: () => void): void {
    if (this.#stopped) return;
    if (this.#pace === undefined && !this.busy) {
      atOnce();
      return;
    }
    this.#pending++;
    this.#tail = this.#tail.then(slowly).finally(() => this.#pending--);
  }

  async #writeSlowly(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length && this.#open; ) {
      const pace = this.#pace ?? { bytes: () => bytes.length, ms: 0 };
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
