import { constants } from "node:os";

/** The parts of node's `process` that `untilSignal` needs. */
export interface SignalSource {
  on(event: "SIGINT" | "SIGTERM", listener: (signal: "SIGINT" | "SIGTERM") => void): unknown;
  off(event: "SIGINT" | "SIGTERM", listener: (signal: "SIGINT" | "SIGTERM") => void): unknown;
  exit(code: number): unknown;
}

export interface UntilSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** For composition roots: aborts on the first SIGINT or SIGTERM, and exits at once on the second. */
export function untilSignal(process: SignalSource): UntilSignal {
  const stop = new AbortController();
  const receive = (name: "SIGINT" | "SIGTERM") => {
    if (stop.signal.aborted) process.exit(128 + constants.signals[name]);
    else stop.abort(name);
  };
  process.on("SIGINT", receive);
  process.on("SIGTERM", receive);
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      process.off("SIGINT", receive);
      process.off("SIGTERM", receive);
    },
  };
}
