import { isIPv6 } from "node:net";
import type { Clock } from "@fjord/base";
import { LoginRefused, TooManyLogins } from "./errors.ts";
import { Turns } from "./turns.ts";

/** Refused tokens that an address has free; each comes back after a while. */
const FREE_FAILURES = 20;
const FAILURE_BACK_MS = 3_000;
/** Addresses that are remembered; of more, those that have failed least lately are forgotten. */
const MOST_ADDRESSES = 10_000;

interface Failures {
  count: number;
  at: number;
}

/**
 * What strangers may cost: questions to the API wait for their turn, a few at a time, addresses one after the other, so that nobody
 * who asks much holds up others for long. Whoever shows wrong tokens may go on only slowly; a link's code is too long to be guessed,
 * so that it always gets its turn: an address that many share is never closed by one of them.
 */
export class LoginGate {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failures>();
  readonly #turns = { token: new Turns(), code: new Turns() };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `check` when it is this one's turn. Throws `TooManyLogins` where there are too many. */
  async through<T>(remote: string, by: "token" | "code", check: () => Promise<T>): Promise<T> {
    const address = networkOf(remote);
    // Counted before the answer: many at once are many.
    if (by === "token") this.#fail(address);
    try {
      const checked = await this.#turns[by].take(address, check);
      if (by === "token") this.#forgive(address);
      return checked;
    } catch (error) {
      if (by === "token" && !(error instanceof LoginRefused)) this.#forgive(address);
      throw error;
    }
  }

  #fail(address: string): void {
    const count = this.#countOf(address);
    if (count > FREE_FAILURES - 1) {
      const seconds = Math.ceil(((count - FREE_FAILURES + 1) * FAILURE_BACK_MS) / 1000);
      throw new TooManyLogins({ seconds });
    }
    this.#set(address, count + 1);
  }

  #forgive(address: string): void {
    this.#set(address, this.#countOf(address) - 1);
  }

  #countOf(address: string): number {
    const known = this.#failures.get(address);
    if (known === undefined) return 0;
    return Math.max(0, known.count - (this.#clock.now() - known.at) / FAILURE_BACK_MS);
  }

  #set(address: string, count: number): void {
    // At the end: the first is the one that has failed least lately.
    this.#failures.delete(address);
    if (count > 0) this.#failures.set(address, { count, at: this.#clock.now() });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
  }
}

/** Who has one address of IPv6 has as many as they like: the network counts. */
export function networkOf(remote: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(remote)?.[1];
  if (mapped !== undefined || !isIPv6(remote)) return mapped ?? remote;
  const [head = "", tail] = remote.replace(/%.*$/, "").toLowerCase().split("::");
  const groups = (text = "") => (text === "" ? [] : text.split(":"));
  const before = groups(head);
  const after = groups(tail);
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
  const all = [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ""));
  return `${all.slice(0, 4).join(":")}::/64`;
}
