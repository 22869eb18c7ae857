import type { RuntimeContainer } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";

export interface RestartTiming {
  /** Milliseconds before the second restart; the first is at once. */
  readonly initial: number;
  readonly max: number;
  /** A container that lived so long begins anew. */
  readonly reset: number;
}

export const defaultRestartTiming: RestartTiming = { initial: 10_000, max: 300_000, reset: 600_000 };

type Ended = Pick<RuntimeContainer, "attempt" | "annotations" | "createdAt" | "finishedAt">;

/** Milliseconds to wait after the end of `previous`. */
export function delayAfter(previous: Ended, timing: RestartTiming): number {
  const lived = (previous.finishedAt ?? previous.createdAt) - previous.createdAt;
  return lived > timing.reset ? 0 : ownDelay(previous, timing);
}

/** When the next container may start after `previous`. */
export function restartAt(previous: Ended, timing: RestartTiming): number {
  return (previous.finishedAt ?? previous.createdAt) + delayAfter(previous, timing);
}

/** What is noted on the container that follows `previous`: the delay that holds after its own end. */
export function nextDelay(previous: Ended | undefined, timing: RestartTiming): number {
  if (previous === undefined) return 0;
  const delay = delayAfter(previous, timing);
  return delay === 0 ? timing.initial : Math.min(delay * 2, timing.max);
}

function ownDelay(container: Ended, timing: RestartTiming): number {
  const noted = Number(container.annotations[annotations.restartDelay]);
  if (Number.isFinite(noted)) return Math.min(Math.max(noted, 0), timing.max);
  if (container.attempt === 0) return 0;
  return Math.min(timing.initial * 2 ** Math.min(container.attempt - 1, 20), timing.max);
}
