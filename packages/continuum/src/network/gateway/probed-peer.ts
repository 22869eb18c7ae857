import type { PeerSigns } from "./link-life.ts";
import { MtuSearch } from "./mtu-search.ts";

/** What probes have shown of a link; nothing where the peer has answered none yet. */
export interface ProbedLink {
  /** There and back, in milliseconds: the median of the last ones. */
  readonly latencyMs?: number;
  /** Of the last ones. */
  readonly lossPercent?: number;
  /** The largest packet that came back. */
  readonly mtu?: number;
}

/** A question that nobody has answered yet. */
export interface Waiting {
  /** In milliseconds with fractions. */
  readonly sentAt: number;
  /** What is sought by it, beside whether somebody is there. */
  readonly size?: number;
  /** Whether another one before it was not answered soon: it says nothing of how much is lost. */
  readonly isAgain?: boolean;
}

/** How often a peer is asked. */
export interface Pace {
  readonly everyMs: number;
  /** The same where nobody waits for it. */
  readonly seldomMs: number;
}

/** Those that somebody waits for. */
export const OFTEN_MS = 1_000;
const LAST = 20;
const LOST_MS = 2_000;
/** An answer that is later than this, and than two quick ones, is asked for again. Usual ones may be few yet, and waited for WireGuard to begin. */
const LATE_MS = 400;
const QUICK = 0.25;
/** How soon, and for how long since it was last heard. */
const AGAIN_MS = 150;
const AGAIN_FOR_MS = 4_000;
/** So that not all of them are due at once, nor both ends of a link. */
const JITTER = 0.1;
/** Of one peer in a second; nobody has a tenth of it to say. The others are heard by the same socket. */
const MOST_SAID = 200;

/** One peer over one lane: when it is asked next, and what its answers have shown. `now` is always by one clock that is never set. */
export class ProbedPeer {
  /** Of its gateway, on the link. */
  readonly address: string;
  readonly #random: () => number;
  readonly #search: MtuSearch;
  readonly #waiting = new Map<number, Waiting>();
  /** Whether each of the last ones was answered, and how soon. */
  #results: (number | "lost")[] = [];
  #askedSince: number | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;
  #dueAt = Number.NEGATIVE_INFINITY;
  #heardAt: number | undefined;
  /** Questions since then, and when the first of them was asked. */
  #unanswered = 0;
  #unansweredSince = 0;
  #questionedAt: number | undefined;
  #invitedAt: number | undefined;
  #hasAnswered = false;
  /** What it has said since when, in a second at most. */
  #said = { since: Number.NEGATIVE_INFINITY, count: 0 };

  /** `random` gives from 0 to 1. */
  constructor(address: string, mtu: number, random: () => number) {
    this.address = address;
    this.#random = random;
    this.#search = new MtuSearch(mtu);
  }

  /** When it is asked next. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** When this one was last known to be heard there, and the other way. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  /** Undefined before it was first asked. */
  get signs(): PeerSigns | undefined {
    const askedSince = this.#askedSince;
    const [heardAt, questionedAt, invitedAt] = [this.#heardAt, this.#questionedAt, this.#invitedAt];
    if (askedSince === undefined) return undefined;
    return {
      askedSince,
      unanswered: this.#unanswered,
      ...(this.#unanswered > 0 && { unansweredSince: this.#unansweredSince }),
      ...(heardAt !== undefined && { heardAt }),
      ...(questionedAt !== undefined && { questionedAt }),
      ...(invitedAt !== undefined && { invitedAt }),
    };
  }

  get seen(): ProbedLink {
    if (!this.#hasAnswered) return {};
    const latencyMs = quantile(this.#results, 0.5);
    const lost = this.#results.filter((each) => each === "lost").length;
    const { found } = this.#search;
    return {
      ...(latencyMs !== undefined && { latencyMs }),
      lossPercent: Math.round((100 * lost) / Math.max(this.#results.length, 1)),
      ...(found !== undefined && { mtu: found }),
    };
  }

  /** Whether a question to one that has answered lately is not answered in time. */
  isMissed(now: number): boolean {
    if (this.#heardAt === undefined || this.#unanswered === 0 || now - this.#heardAt >= AGAIN_FOR_MS) return false;
    return this.#unanswered > 1 || now >= this.#dueAt;
  }

  /** It is asked as soon as can be. */
  hurry(): void {
    this.#dueAt = Number.NEGATIVE_INFINITY;
  }

  /** What is asked more often than before does not wait for what was arranged. */
  keepPace(everyMs: number, now: number): void {
    this.#dueAt = Math.min(this.#dueAt, now + everyMs * (1 + 3 * JITTER));
  }

  /** It is asked now. Whether that is because it has not answered in time. */
  ask(everyMs: number, now: number): boolean {
    const isAgain = this.isMissed(now);
    this.#sentAt = now;
    this.#askedSince ??= now;
    if (this.#unanswered++ === 0) this.#unansweredSince = now;
    this.#dueAt = now + this.#untilNext(everyMs, isAgain, now);
    return isAgain;
  }

  #untilNext(everyMs: number, isAgain: boolean, now: number): number {
    if (this.#heardAt === undefined) return everyMs;
    if (now - this.#heardAt >= AGAIN_FOR_MS) return Math.min(everyMs, OFTEN_MS);
    return isAgain ? AGAIN_MS : Math.max(LATE_MS, 2 * (quantile(this.#results, QUICK) ?? 0));
  }

  /** The size of a packet that is to be tried now, if any. */
  nextSize(now: number): number | undefined {
    return this.#hasAnswered ? this.#search.next(now) : undefined;
  }

  /** It was sent a question of this number. */
  wait(number: number, waiting: Waiting): void {
    this.#waiting.set(number, waiting);
  }

  /** What is not answered by now is lost. `precise` is the clock by which it was sent. */
  giveUp(now: number, precise: number): void {
    for (const [number, { sentAt, size, isAgain }] of this.#waiting) {
      if (precise - sentAt < LOST_MS) continue;
      this.#waiting.delete(number);
      if (size !== undefined) this.#search.failed(size, now);
      // One that has never answered may not be there yet.
      else if (this.#hasAnswered && !isAgain) this.#note("lost");
    }
  }

  /** Whether it has said more than anybody has to say. */
  isTooMuch(now: number): boolean {
    if (now - this.#said.since >= 1_000) this.#said = { since: now, count: 0 };
    return ++this.#said.count > MOST_SAID;
  }

  /** It answers, by a packet of `size`. How long that took; undefined where nobody waited for it, or it was to show how large a packet may be. */
  answered(number: number, size: number, everyMs: number, now: number, precise: number): number | undefined {
    const asked = this.#waiting.get(number);
    if (asked === undefined) return undefined;
    this.#waiting.delete(number);
    this.#hasAnswered = true;
    this.#met(everyMs, now);
    if (asked.size !== undefined) {
      if (size === asked.size) this.#search.passed(size, now);
      return undefined;
    }
    const latencyMs = precise - asked.sentAt;
    if (!asked.isAgain) this.#note(latencyMs);
    return latencyMs;
  }

  /** It asks by itself. */
  questioned(now: number): void {
    this.#questionedAt = now;
  }

  /** It says that it tries another way. */
  invited(now: number): void {
    this.#invitedAt = now;
  }

  /** The peer asks, and so long ago it knew that both hear each other. As long as it asks, this one need not; but how long it takes is known only by own questions. */
  told(ageMs: number, { everyMs, seldomMs }: Pace, now: number): void {
    if (now - ageMs > (this.#heardAt ?? 0)) {
      this.#heardAt = now - ageMs;
      this.#unanswered = 0;
    }
    if (everyMs < OFTEN_MS || everyMs === seldomMs || !this.#hasAnswered) return;
    if (ageMs > (1 + 2 * JITTER) * everyMs + LATE_MS / 2) this.#missedBy(now - ageMs + everyMs, now);
    else if (this.#unanswered === 0 && now - this.#sentAt < seldomMs)
      this.#dueAt = Math.max(this.#dueAt, now + everyMs * this.#about(1 + 2 * JITTER));
  }

  /** Both have heard each other now. */
  #met(everyMs: number, now: number): void {
    if (now <= (this.#heardAt ?? 0)) return;
    this.#heardAt = now;
    this.#unanswered = 0;
    this.#dueAt = now + everyMs * this.#about(1);
  }

  /** The peer has asked in vain since then, which is as good as an own question. */
  #missedBy(since: number, now: number): void {
    if (this.#unanswered === 0) {
      this.#unansweredSince = since;
      this.#dueAt = now;
    }
    this.#unanswered++;
  }

  #about(share: number): number {
    return share + JITTER * (this.#random() - 0.5);
  }

  #note(result: number | "lost"): void {
    this.#results = [...this.#results, result].slice(-LAST);
  }
}

function quantile(results: readonly (number | "lost")[], share: number): number | undefined {
  const times = results.filter((each) => each !== "lost").toSorted((a, b) => a - b);
  return times[Math.floor(times.length * share)];
}
