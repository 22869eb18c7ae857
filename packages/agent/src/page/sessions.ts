import { randomBytes } from "node:crypto";
import type { Clock } from "@fjord/base";
import type { Impersonation } from "@fjord/kube";

/** Someone who has shown who they are. */
export interface Session {
  readonly id: string;
  readonly who: Impersonation;
  readonly until: number;
  /** The token that was shown; looked at again from time to time, since it may be withdrawn. */
  readonly token?: string;
  checkedAt: number;
  /** Aborts when the session ends: streams end with it. */
  readonly ended: AbortController;
}

const LIFETIME_MS = 8 * 3_600_000;
/** More than anybody needs; the oldest go first. */
const MOST = 1_000;
/** So that nobody logs others out by logging in. */
const MOST_PER_USER = 50;

/** Sessions of the page, in memory: a restart of the agent asks everyone to log in again. */
export class Sessions {
  readonly #clock: Clock;
  readonly #sessions = new Map<string, Session>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#sessions.size;
  }

  begin(who: Impersonation, token?: string): Session {
    for (const session of this.#sessions.values()) if (session.until <= this.#clock.now()) this.end(session);
    const own = [...this.#sessions.values()].filter((each) => each.who.user === who.user);
    if (own.length >= MOST_PER_USER && own[0] !== undefined) this.end(own[0]);
    const [oldest] = this.#sessions.values();
    if (this.#sessions.size >= MOST && oldest !== undefined) this.end(oldest);
    const now = this.#clock.now();
    const id = randomBytes(32).toString("base64url");
    const session: Session = {
      id,
      who,
      until: now + LIFETIME_MS,
      ...(token !== undefined && { token }),
      checkedAt: now,
      ended: new AbortController(),
    };
    this.#sessions.set(id, session);
    return session;
  }

  find(id: string | undefined): Session | undefined {
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (session === undefined || session.until > this.#clock.now()) return session;
    this.end(session);
    return undefined;
  }

  end(session: Session): void {
    this.#sessions.delete(session.id);
    session.ended.abort();
  }

  endAll(): void {
    for (const session of [...this.#sessions.values()]) this.end(session);
  }
}
