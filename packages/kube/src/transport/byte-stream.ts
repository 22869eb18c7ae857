import type { Clock } from "@fjord/base";

/** What a stream needs of the connection that feeds it. */
export interface ByteSource {
  pause(): void;
  resume(): void;
  /** Called once, when the reader is done before the source is. */
  cancel(): void;
}

export interface ByteStreamOptions {
  source: ByteSource;
  clock: Clock;
  /** About how much is held that was not read yet. @default a megabyte */
  heldBytes?: number;
  /** Fails the stream when the source is silent for this long. */
  idleTimeoutMs?: number;
  /** Makes the error for that. */
  idleError: (ms: number) => Error;
}

const HELD_BYTES = 1024 * 1024;

/** A body as it arrives. One reader; what it has not read yet is held up to a limit. Leaving a `for await` loop ends the connection. */
export class ByteStream implements AsyncIterableIterator<Buffer> {
  readonly #options: ByteStreamOptions;
  readonly #heldBytes: number;
  #chunks: Buffer[] = [];
  #head = 0;
  #bytes = 0;
  #paused = false;
  #done = false;
  #error: Error | undefined;
  #waiting: { resolve(result: IteratorResult<Buffer>): void; reject(error: Error): void } | undefined;
  #lastActivity: number;
  #stopTimer: (() => void) | undefined;
  #onClose: (() => void) | undefined;

  constructor(options: ByteStreamOptions) {
    this.#options = options;
    this.#heldBytes = options.heldBytes ?? HELD_BYTES;
    this.#lastActivity = options.clock.now();
    if (options.idleTimeoutMs !== undefined) this.#armTimer(options.idleTimeoutMs);
  }

  push(chunk: Buffer): void {
    if (this.#done) return;
    this.#lastActivity = this.#options.clock.now();
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      this.#waiting = undefined;
      waiting.resolve({ value: chunk, done: false });
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#paused && this.#bytes > this.#heldBytes) {
      this.#paused = true;
      this.#options.source.pause();
    }
  }

  end(): void {
    this.#finish(undefined);
  }

  /** What was received before the failure is still read first. */
  fail(error: Error): void {
    this.#finish(error);
  }

  /** Fails the stream from this side and ends its connection; nothing that was received before is read any more. */
  abort(error: Error): void {
    this.#discard();
    if (this.#done) return;
    this.fail(error);
    this.#options.source.cancel();
  }

  /** Calls `callback` when the connection is no longer needed: at the end, on a failure, or when the reader leaves. */
  onClose(callback: () => void): void {
    if (this.#done) callback();
    else this.#onClose = callback;
  }

  next(): Promise<IteratorResult<Buffer>> {
    const chunk = this.#take();
    if (chunk !== undefined) return Promise.resolve({ value: chunk, done: false });
    if (this.#done) {
      const error = this.#error;
      this.#error = undefined;
      return error === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Buffer>> {
    if (!this.#done) this.#options.source.cancel();
    this.#finish(undefined);
    this.#discard();
    this.#error = undefined;
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): Buffer | undefined {
    const chunk = this.#chunks[this.#head];
    if (chunk === undefined) return undefined;
    this.#head++;
    this.#bytes -= chunk.length;
    if (this.#head === this.#chunks.length) {
      this.#chunks = [];
      this.#head = 0;
    }
    if (this.#paused && this.#bytes < this.#heldBytes / 4) {
      this.#paused = false;
      this.#lastActivity = this.#options.clock.now();
      this.#options.source.resume();
    }
    return chunk;
  }

  #discard(): void {
    this.#chunks = [];
    this.#head = 0;
    this.#bytes = 0;
  }

  #finish(error: Error | undefined): void {
    if (this.#done) return;
    this.#done = true;
    this.#error = error;
    this.#stopTimer?.();
    this.#onClose?.();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) return;
    if (error === undefined) waiting.resolve({ value: undefined, done: true });
    else {
      this.#error = undefined;
      waiting.reject(error);
    }
  }

  // One timer that looks at the time of the last chunk: re-arming it for each chunk would cost more than the chunk.
  #armTimer(idleMs: number, delay: number = idleMs): void {
    this.#stopTimer = this.#options.clock.after(delay, () => {
      const silentFor = this.#options.clock.now() - this.#lastActivity;
      if (this.#paused) this.#armTimer(idleMs);
      else if (silentFor < idleMs) this.#armTimer(idleMs, idleMs - silentFor);
      else {
        this.fail(this.#options.idleError(idleMs));
        this.#options.source.cancel();
      }
    });
  }
}
