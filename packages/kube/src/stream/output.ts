import type { Writable } from "node:stream";
import type { ChannelSocket } from "./channel-socket.ts";

/** Writes one channel to a stream that is not ours to end, reading no further while that is full. */
export class Output {
  readonly #writable: Writable;
  readonly #onFailure: (cause?: Error) => void;
  #resume: (() => void) | undefined;
  #unwritten = 0;
  #flushed: (() => void) | undefined;

  constructor(writable: Writable, onFailure: (cause?: Error) => void) {
    this.#writable = writable;
    this.#onFailure = onFailure;
    writable.on("error", onFailure);
    writable.on("close", this.#onClose);
    writable.on("drain", this.#onDrain);
  }

  write(data: Buffer, socket: ChannelSocket): void {
    this.#unwritten++;
    const roomLeft = this.#writable.write(data, () => {
      this.#unwritten--;
      if (this.#unwritten === 0) this.#flushed?.();
    });
    if (!roomLeft) this.#resume ??= socket.pause();
  }

  /** Resolves when everything has been taken, or never will be. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#unwritten === 0) resolve();
      else this.#flushed = resolve;
    });
  }

  release(): void {
    this.#writable.off("error", this.#onFailure);
    this.#writable.off("close", this.#onClose);
    this.#writable.off("drain", this.#onDrain);
    this.#onDrain();
  }

  readonly #onClose = () => this.#onFailure();

  readonly #onDrain = () => {
    this.#resume?.();
    this.#resume = undefined;
  };
}
