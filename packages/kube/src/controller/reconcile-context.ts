import { type Logger, onAbort } from "@fjord/base";
import type { ReconcileContext } from "./controller.ts";

/**
 * A signal of its own for each reconciliation: listeners that work leaves behind go with it. It is made when it is asked
 * for, since most reconciliations find nothing to do, and it would be most of their cost.
 */
export class Deadline {
  readonly #abandon: AbortSignal;
  #own: AbortController | undefined;
  #stopListening = () => {};
  #passed: { readonly reason: unknown } | undefined;
  cancelTimer = () => {};

  constructor(abandon: AbortSignal) {
    this.#abandon = abandon;
  }

  get signal(): AbortSignal {
    if (this.#own !== undefined) return this.#own.signal;
    const own = new AbortController();
    this.#own = own;
    if (this.#passed !== undefined) own.abort(this.#passed.reason);
    else this.#stopListening = onAbort(this.#abandon, () => own.abort(this.#abandon.reason));
    return own.signal;
  }

  abort(reason: unknown): void {
    this.#passed = { reason };
    this.#own?.abort(reason);
  }

  cancel(): void {
    this.#stopListening();
    this.cancelTimer();
  }
}

/** What a reconciler is given beside a name, each thing made when it is asked for. */
export class Context implements ReconcileContext {
  readonly failures: number;
  readonly #deadline: Deadline;
  readonly #makeLog: () => Logger;
  #log: Logger | undefined;

  constructor(deadline: Deadline, makeLog: () => Logger, failures: number) {
    this.#deadline = deadline;
    this.#makeLog = makeLog;
    this.failures = failures;
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  get log(): Logger {
    this.#log ??= this.#makeLog();
    return this.#log;
  }
}
