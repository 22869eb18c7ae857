import type { Condition } from "@fjord/base";
import type { Told } from "./virtual-node-status.ts";

/**
 * A return is news when it has lasted for so long: a provider that comes and goes is told of as lost once, and as there when it
 * stays, not each time. Whoever is told by events has no use for more; the Node itself says at once how it is.
 */
export const LASTING_MS = 30_000;

export interface News {
  /** Whether an event is to be told now. */
  readonly tell: boolean;
  /** When there may be news by time alone: milliseconds from now. */
  readonly againInMs?: number;
}

interface LastTold {
  /** Undefined: nothing, or nothing that is known. */
  reason?: string | undefined;
  /** Whether it was ready once, so that it can return. */
  wasReady: boolean;
  /** Since when it is ready, where that is not told yet. */
  readySince?: number | undefined;
}

/** What was told of each node's readiness by events, and what is to be told next. */
export class ReadinessNews {
  readonly #told = new Map<string, LastTold>();

  /** To be asked whenever a node's readiness is looked at; `before` is the condition that its object has. */
  next(node: string, { status, reason }: Told, before: Condition | undefined, now: number): News {
    const told = this.#told.get(node) ?? toldBefore(before, now);
    this.#told.set(node, told);
    if (told.reason === reason) {
      told.readySince = undefined;
      return { tell: false };
    }
    if (status === "True" && told.wasReady) {
      // A clock that is set back must not keep the news.
      told.readySince = Math.min(told.readySince ?? now, now);
      const left = told.readySince + LASTING_MS - now;
      if (left > 0) return { tell: false, againInMs: left };
    }
    told.readySince = undefined;
    told.reason = reason;
    told.wasReady ||= status === "True";
    return { tell: true };
  }

  forget(node: string): void {
    this.#told.delete(node);
  }
}

/** What the process before this one has told: what it wrote, but for a return that had not lasted. */
function toldBefore(condition: Condition | undefined, now: number): LastTold {
  if (condition === undefined) return { wasReady: false };
  const told: LastTold = { reason: condition.reason, wasReady: true };
  if (condition.status !== "True") return told;
  const readySince = Date.parse(condition.lastTransitionTime);
  return now - readySince < LASTING_MS ? { wasReady: true, readySince } : told;
}
