import type { RequestRecord, Verb } from "./request-log.ts";

/** What can go wrong with one request. */
export type Fault =
  /** Answers with this status and a Kubernetes Status body: 403, 410, 429, 500, 503… */
  | { type: "status"; status: number; message?: string; retryAfterSeconds?: number }
  /** Sends a TCP RST: instead of an answer, or after `afterEvents` events of a watch. */
  | { type: "reset"; afterEvents?: number }
  /** Keeps the connection and says nothing (more): instead of an answer, or after `afterEvents` events of a watch. */
  | { type: "silence"; afterEvents?: number }
  /** Ends a watch cleanly after `afterEvents` events. */
  | { type: "close"; afterEvents?: number }
  /** An ERROR event with a 410 after `afterEvents` events of a watch. */
  | { type: "gone"; afterEvents?: number }
  /** After `afterEvents` events the next one stops half-way, and the body ends as if all were well. A list: half of it. */
  | { type: "truncate"; afterEvents?: number }
  /** Sends each event of a watch twice, and at its beginning what the client has seen already. */
  | { type: "duplicate" }
  /** Answers after a while. */
  | { type: "delay"; ms: number }
  /** Writes the answer in pieces that end anywhere, in the middle of a character too. */
  | { type: "split" }
  /** Writes the answer byte by byte, so many milliseconds apart. */
  | { type: "trickle"; ms: number }
  /** Takes no continue token that was given out before: 410. */
  | { type: "expire-continue" };

/** Which requests a fault meets: those that all the given fields agree with. */
export interface RequestMatch {
  verb?: Verb | readonly Verb[];
  /** `plural` or `plural.group`. */
  resource?: string;
  namespace?: string;
  where?: (request: RequestRecord) => boolean;
}

export interface FaultOptions {
  on?: RequestMatch;
  /** How many requests it meets. @default 1 */
  times?: number;
  /** How many matching requests pass unharmed first. @default 0 */
  skip?: number;
}

/** A fault that was set: how often it struck, and a way to take it back. */
export interface ActiveFault {
  readonly fault: Fault;
  readonly hits: number;
  clear(): void;
}

interface Entry {
  fault: Fault;
  on: RequestMatch;
  left: number;
  skip: number;
  hits: number;
}

/** The faults that are set, in the order in which they were. */
export class FaultPlan {
  readonly #entries = new Set<Entry>();

  add(fault: Fault, options: FaultOptions = {}): ActiveFault {
    const entry: Entry = {
      fault,
      on: options.on ?? {},
      left: options.times ?? 1,
      skip: options.skip ?? 0,
      hits: 0,
    };
    this.#entries.add(entry);
    return {
      fault,
      get hits() {
        return entry.hits;
      },
      clear: () => this.#entries.delete(entry),
    };
  }

  /** The faults that this request meets, counted as met. */
  take(request: RequestRecord): Fault[] {
    const taken: Fault[] = [];
    for (const entry of this.#entries) {
      if (!matches(request, entry.on)) continue;
      if (entry.skip > 0) {
        entry.skip--;
        continue;
      }
      entry.hits++;
      entry.left--;
      if (entry.left <= 0) this.#entries.delete(entry);
      taken.push(entry.fault);
    }
    return taken;
  }

  clear(): void {
    this.#entries.clear();
  }
}

export function matches(request: RequestRecord, on: RequestMatch): boolean {
  if (on.verb !== undefined && ![on.verb].flat().includes(request.verb)) return false;
  if (on.resource !== undefined && on.resource !== request.resource) return false;
  if (on.namespace !== undefined && on.namespace !== request.namespace) return false;
  return on.where === undefined || on.where(request);
}
