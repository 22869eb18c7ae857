import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "@fjord/base";

export interface RestOptions {
  readonly clock: Clock;
  /** Seconds of processor time that the process has used so far. */
  readonly used: () => number;
  readonly collect: () => void;
}

const LOOK_MS = 1_000;
/** So much in one look is rest. */
const IDLE_SECONDS = 0.05;
/** So much since the last time is worth it. */
const WORTH_SECONDS = 0.25;

/**
 * Collects garbage once work is over: V8 waits for more work to do so, and what the last burst has left behind would stay
 * for as long as nothing happens. Returns what ends it.
 */
export function collectAtRest({ clock, used, collect }: RestOptions): () => void {
  let before = used();
  let collected = 0;
  let cancel = () => {};
  const look = () => {
    const now = used();
    if (now - before < IDLE_SECONDS && now - collected > WORTH_SECONDS) {
      collect();
      collected = used();
    }
    before = used();
    cancel = clock.after(LOOK_MS, look);
  };
  cancel = clock.after(LOOK_MS, look);
  return () => cancel();
}

/** V8's own collection, which Node shows only to those who ask for it. */
export function fullCollection(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

export function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
