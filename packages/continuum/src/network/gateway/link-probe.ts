import { type Clock, describeError, type Logger, steadyNow } from "@fjord/base";
import { linkAddress } from "../link-address.ts";
import type { PeerSigns } from "./link-life.ts";
import { MtuSearch } from "./mtu-search.ts";

/** Sends to, and hears of, other gateways. */
export interface ProbeSocket {
  send(bytes: Buffer, address: string): void;
  close(): void;
}

export type OpenProbeSocket = (address: string, heard: (bytes: Buffer, from: string) => void) => Promise<ProbeSocket>;

/** What probes have shown of a link; nothing where the peer has answered none yet. */
export interface ProbedLink {
  /** There and back, in milliseconds: the median of the last ones. */
  readonly latencyMs?: number;
  /** Of the last ones. */
  readonly lossPercent?: number;
  /** The largest packet that came back. */
  readonly mtu?: number;
}

export interface LinkProbeOptions {
  readonly open: OpenProbeSocket;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds with fractions. @default performance.now */
  readonly preciseNow?: () => number;
  /** From 0 to 1. @default Math.random */
  readonly random?: () => number;
  /** Hears of each answer. */
  readonly answered?: (siteId: string, latencyMs: number) => void;
  /** @default 5,000 */
  readonly everyMs?: number;
  /** That is probed. @default 0, the first one */
  readonly lane?: number;
}

/** A question that nobody has answered yet. */
interface Waiting {
  readonly sentAt: number;
  /** What is sought by it, beside whether somebody is there. */
  readonly size?: number;
  /** Whether another one before it was not answered soon: it says nothing of how much is lost. */
  readonly isAgain?: boolean;
}

interface Probed {
  readonly address: string;
  /** Whether each of the last ones was answered, and how soon. */
  results: (number | "lost")[];
  waiting: Map<number, Waiting>;
  askedSince: number | undefined;
  sentAt: number;
  /** When it is asked next. */
  dueAt: number;
  /** When this one was last known to be heard there, and the other way. */
  heardAt: number | undefined;
  /** Questions since then, and when the first of them was asked. */
  unanswered: number;
  unansweredSince: number;
  questionedAt: number | undefined;
  invitedAt: number | undefined;
  hasAnswered: boolean;
  search: MtuSearch;
  /** What it has said since when, in a second at most. */
  said: { readonly since: number; count: number };
}

const LAST = 20;
const LOST_MS = 2_000;
/** Those that somebody waits for. */
const OFTEN_MS = 1_000;
/** An answer that is later than this, and than two usual ones, is asked for again. */
const LATE_MS = 400;
/** How soon, and for how long since it was last heard. */
const AGAIN_MS = 150;
const AGAIN_FOR_MS = 4_000;
/** Peers that are due are asked together, not each by a timer of its own. */
const PULSE_MS = 100;
/** So that not all of them are due at once, nor both ends of a link. */
const JITTER = 0.1;
const OPEN_AGAIN_MS = 10_000;
const SMALL = 64;
/** Of IPv6 and UDP. */
const HEADERS = 48;
const ASK = 1;
const ANSWER = 2;
/** What others than this have to say over the link. */
const WORD = 3;
const MAGIC = 0x666a;
/** In a question: the asker tries the direct way now, and the asked one is to do so too. Nobody waits for the answer to such a one. */
const TRYING = 1;
/** In a question: it says how long ago the asker last knew that both hear each other. Who is told so need not ask itself. */
const HEARD = 2;
const LONGEST_AGE_MS = 0xffff;
/** Of one peer in a second; nobody has a tenth of it to say. The others are heard by the same socket. */
const MOST_SAID = 200;

/**
 * Asks the gateways of peers over their links, and answers theirs: how long it takes, how much is lost, how large a packet may be. Nobody but a
 * peer can ask or answer in its name, as WireGuard knows whose address it is.
 */
export class LinkProbe {
  readonly #options: LinkProbeOptions;
  readonly #peers = new Map<string, Probed>();
  /** By their addresses on links. */
  readonly #siteIds = new Map<string, string>();
  #own = "";
  #mtu = 0;
  #socket: ProbeSocket | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #number = 0;
  #invited: (siteId: string) => void = () => {};
  #said: (siteId: string, word: Buffer) => void = () => {};
  #late: () => void = () => {};
  #isLate = false;
  #often: ReadonlySet<string> = new Set();
  #oftenMs = OFTEN_MS;
  #cancel: (() => void) | undefined;

  constructor(options: LinkProbeOptions) {
    this.#options = options;
  }

  /** Asks these peers from now on; others are forgotten. `mtu` is the interface's; those of `often` are asked every `oftenMs`. */
  async tick(
    own: string,
    peers: readonly string[],
    mtu: number,
    often: ReadonlySet<string> = new Set(),
    oftenMs = OFTEN_MS,
  ): Promise<void> {
    const now = this.#now();
    await this.#open(own, now);
    this.#often = often;
    this.#oftenMs = oftenMs;
    if (mtu !== this.#mtu) this.#forget(() => false);
    this.#mtu = mtu;
    const known = new Set(peers);
    this.#forget((siteId) => known.has(siteId));
    for (const siteId of peers) {
      if (this.#peers.has(siteId)) continue;
      const probed = begin(siteId, this.#lane, mtu);
      this.#peers.set(siteId, probed);
      this.#siteIds.set(probed.address, siteId);
    }
    this.#pulse();
  }

  /** All peers are asked at the next tick, whenever they were asked last. */
  hurry(): void {
    for (const probed of this.#peers.values()) probed.dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Says to a peer that the direct way is tried now. It also is something to send, which opens a NAT on the way. */
  invite(siteId: string): void {
    const probed = this.#peers.get(siteId);
    if (probed !== undefined) this.#socket?.send(question(SMALL, 0, TRYING), probed.address);
  }

  /** Calls whenever a peer says so. */
  onInvited(listener: (siteId: string) => void): void {
    this.#invited = listener;
  }

  /** Says something to a peer, which may not hear it. */
  say(siteId: string, word: Buffer): void {
    const probed = this.#peers.get(siteId);
    if (probed === undefined) return;
    const head = Buffer.alloc(8);
    head.writeUInt16BE(MAGIC, 0);
    head.writeUInt8(WORD, 2);
    this.#socket?.send(Buffer.concat([head, word]), probed.address);
  }

  /** Calls whenever a peer says something. */
  onSaid(listener: (siteId: string, word: Buffer) => void): void {
    this.#said = listener;
  }

  /** Calls when `isLate` begins. */
  onLate(listener: () => void): void {
    this.#late = listener;
  }

  /** Undefined before it was first asked. */
  signs(siteId: string): PeerSigns | undefined {
    const probed = this.#peers.get(siteId);
    if (probed?.askedSince === undefined) return undefined;
    const { askedSince, heardAt, unanswered, unansweredSince, questionedAt, invitedAt } = probed;
    return {
      askedSince,
      unanswered,
      ...(unanswered > 0 && { unansweredSince }),
      ...(heardAt !== undefined && { heardAt }),
      ...(questionedAt !== undefined && { questionedAt }),
      ...(invitedAt !== undefined && { invitedAt }),
    };
  }

  seen(siteId: string): ProbedLink {
    const probed = this.#peers.get(siteId);
    if (!probed?.hasAnswered) return {};
    const latencyMs = median(probed.results);
    const lost = probed.results.filter((each) => each === "lost").length;
    const { found } = probed.search;
    return {
      ...(latencyMs !== undefined && { latencyMs }),
      lossPercent: Math.round((100 * lost) / Math.max(probed.results.length, 1)),
      ...(found !== undefined && { mtu: found }),
    };
  }

  /** When it last did, or said that it is answered itself; by the clock. */
  answeredAt(siteId: string): number | undefined {
    return this.#peers.get(siteId)?.heardAt;
  }

  /** Whether one that has answered before does not just now. */
  get isLate(): boolean {
    return this.#isLate;
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #open(own: string, now: number): Promise<void> {
    if (own === this.#own && (this.#socket !== undefined || now - this.#triedAt < OPEN_AGAIN_MS)) return;
    this.close();
    const isFirst = own !== this.#own;
    this.#own = own;
    this.#triedAt = now;
    try {
      this.#socket = await this.#options.open(linkAddress(own, this.#lane), (bytes, from) => this.#heard(bytes, from));
    } catch (error) {
      if (isFirst) this.#options.logger.warn("links are not probed on this node", { reason: describeError(error) });
    }
  }

  #forget(isKept: (siteId: string) => boolean): void {
    for (const [siteId, { address }] of this.#peers) {
      if (isKept(siteId)) continue;
      this.#peers.delete(siteId);
      this.#siteIds.delete(address);
    }
  }

  /** Asks whoever is due, and comes back when the next one is. */
  #pulse(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#socket === undefined) return;
    const now = this.#now();
    let next = Number.POSITIVE_INFINITY;
    let isLate = false;
    for (const [siteId, probed] of this.#peers) {
      if (probed.waiting.size > 0) this.#giveUp(probed, now);
      const every = this.#everyMs(siteId);
      // What is asked more often than before does not wait for what was arranged.
      probed.dueAt = Math.min(probed.dueAt, now + every * (1 + 3 * JITTER));
      if (now >= probed.dueAt) this.#askAgain(probed, every, now);
      const size = probed.hasAnswered ? probed.search.next(now) : undefined;
      if (size !== undefined) this.#ask(probed, size, { size });
      next = Math.min(next, probed.dueAt);
      isLate ||= isMissed(probed, now);
    }
    const isNew = isLate && !this.#isLate;
    this.#isLate = isLate;
    if (isNew) this.#late();
    if (next !== Number.POSITIVE_INFINITY)
      this.#cancel = this.#options.clock.after(Math.max(next - now, PULSE_MS), () => this.#pulse());
  }

  #everyMs(siteId: string): number {
    const { everyMs = 5_000 } = this.#options;
    return this.#often.has(siteId) ? Math.min(everyMs, this.#oftenMs) : everyMs;
  }

  #askAgain(probed: Probed, every: number, now: number): void {
    const isAgain = isMissed(probed, now);
    probed.sentAt = now;
    probed.askedSince ??= now;
    if (probed.unanswered++ === 0) probed.unansweredSince = now;
    this.#ask(probed, SMALL, { isAgain });
    const owes = probed.heardAt !== undefined;
    const isNew = owes && now - (probed.heardAt ?? 0) < AGAIN_FOR_MS;
    if (isNew) probed.dueAt = now + (isAgain ? AGAIN_MS : Math.max(LATE_MS, 2 * (median(probed.results) ?? 0)));
    else probed.dueAt = now + (owes ? Math.min(every, OFTEN_MS) : every);
  }

  #ask(probed: Probed, size: number, { size: sought, isAgain }: Omit<Waiting, "sentAt">): void {
    this.#number = (this.#number % 0xffff_ffff) + 1;
    probed.waiting.set(this.#number, {
      sentAt: this.#precise(),
      ...(sought !== undefined && { size: sought }),
      ...(isAgain && { isAgain }),
    });
    const age = probed.heardAt === undefined ? undefined : this.#now() - probed.heardAt;
    this.#socket?.send(question(size, this.#number, 0, age), probed.address);
  }

  #heard(bytes: Buffer, from: string): void {
    if (bytes.length < 8 || bytes.readUInt16BE(0) !== MAGIC) return;
    const siteId = this.#siteIds.get(from) ?? "";
    const probed = this.#peers.get(siteId);
    if (probed === undefined || this.#isTooMuch(probed)) return;
    if (bytes.readUInt8(2) === ASK) {
      probed.questionedAt = this.#now();
      if ((bytes.readUInt8(3) & TRYING) !== 0) {
        probed.invitedAt = this.#now();
        this.#invited(siteId);
      }
      const isTold = (bytes.readUInt8(3) & HEARD) !== 0 && bytes.length >= 10;
      if (isTold) this.#told(siteId, probed, bytes.readUInt16BE(8));
      // Of the same size, so that nobody gets more than he sends.
      const answer = Buffer.from(bytes);
      answer.writeUInt8(ANSWER, 2);
      this.#socket?.send(answer, from);
      return;
    }
    if (bytes.readUInt8(2) === WORD) {
      this.#said(siteId, bytes.subarray(8));
      return;
    }
    const number = bytes.readUInt32BE(4);
    const asked = probed.waiting.get(number);
    if (bytes.readUInt8(2) !== ANSWER || asked === undefined) return;
    probed.waiting.delete(number);
    probed.hasAnswered = true;
    this.#met(siteId, probed, this.#now());
    if (asked.size !== undefined) {
      if (bytes.length === asked.size - HEADERS) probed.search.passed(asked.size, this.#now());
      return;
    }
    const latencyMs = this.#precise() - asked.sentAt;
    if (!asked.isAgain) this.#note(probed, latencyMs);
    this.#options.answered?.(siteId, latencyMs);
  }

  #isTooMuch(probed: Probed): boolean {
    const now = this.#now();
    if (now - probed.said.since >= 1_000) probed.said = { since: now, count: 0 };
    return ++probed.said.count > MOST_SAID;
  }

  /** Both have heard each other then. */
  #met(siteId: string, probed: Probed, at: number): void {
    if (at <= (probed.heardAt ?? 0)) return;
    probed.heardAt = at;
    probed.unanswered = 0;
    probed.dueAt = at + this.#everyMs(siteId) * this.#about(1);
  }

  /** The peer asks, and so long ago it knew that both hear each other. As long as it asks, this one need not; but how long it takes is known only by own questions. */
  #told(siteId: string, probed: Probed, ageMs: number): void {
    const { everyMs = 5_000 } = this.#options;
    const [now, every] = [this.#now(), this.#everyMs(siteId)];
    if (now - ageMs > (probed.heardAt ?? 0)) {
      probed.heardAt = now - ageMs;
      probed.unanswered = 0;
    }
    if (every < OFTEN_MS || every === everyMs || !probed.hasAnswered) return;
    if (ageMs > (1 + 2 * JITTER) * every + LATE_MS / 2) this.#missedBy(probed, now - ageMs + every, now);
    else if (probed.unanswered === 0 && now - probed.sentAt < everyMs)
      probed.dueAt = Math.max(probed.dueAt, now + every * this.#about(1 + 2 * JITTER));
  }

  /** The peer has asked in vain since then, which is as good as an own question. */
  #missedBy(probed: Probed, since: number, now: number): void {
    if (probed.unanswered === 0) {
      probed.unansweredSince = since;
      probed.dueAt = now;
    }
    probed.unanswered++;
  }

  #about(share: number): number {
    const { random = Math.random } = this.#options;
    return share + JITTER * (random() - 0.5);
  }

  /** What is not answered by now is lost. */
  #giveUp(probed: Probed, now: number): void {
    for (const [number, { sentAt, size, isAgain }] of probed.waiting) {
      if (this.#precise() - sentAt < LOST_MS) continue;
      probed.waiting.delete(number);
      if (size !== undefined) probed.search.failed(size, now);
      // One that has never answered may not be there yet.
      else if (probed.hasAnswered && !isAgain) this.#note(probed, "lost");
    }
  }

  #note(probed: Probed, result: number | "lost"): void {
    probed.results = [...probed.results, result].slice(-LAST);
  }

  get #lane(): number {
    return this.#options.lane ?? 0;
  }

  #now(): number {
    return steadyNow(this.#options.clock);
  }

  #precise(): number {
    return this.#options.preciseNow?.() ?? performance.now();
  }
}

function begin(siteId: string, lane: number, mtu: number): Probed {
  return {
    address: linkAddress(siteId, lane),
    results: [],
    waiting: new Map(),
    askedSince: undefined,
    sentAt: Number.NEGATIVE_INFINITY,
    dueAt: Number.NEGATIVE_INFINITY,
    heardAt: undefined,
    unanswered: 0,
    unansweredSince: 0,
    questionedAt: undefined,
    invitedAt: undefined,
    hasAnswered: false,
    search: new MtuSearch(mtu),
    said: { since: Number.NEGATIVE_INFINITY, count: 0 },
  };
}

/** Whether a question to one that has answered lately is not answered in time. */
function isMissed({ heardAt, unanswered, dueAt }: Probed, now: number): boolean {
  if (heardAt === undefined || unanswered === 0 || now - heardAt >= AGAIN_FOR_MS) return false;
  return unanswered > 1 || now >= dueAt;
}

function median(results: Probed["results"]): number | undefined {
  const times = results.filter((each) => each !== "lost").toSorted((a, b) => a - b);
  return times[Math.floor(times.length / 2)];
}

function question(size: number, number: number, flags: number, ageMs?: number): Buffer {
  const bytes = Buffer.alloc(Math.max(size - HEADERS, 10));
  bytes.writeUInt16BE(MAGIC, 0);
  bytes.writeUInt8(ASK, 2);
  const isHeard = ageMs !== undefined && ageMs >= 0 && ageMs <= LONGEST_AGE_MS;
  bytes.writeUInt8(flags | (isHeard ? HEARD : 0), 3);
  bytes.writeUInt32BE(number, 4);
  if (isHeard) bytes.writeUInt16BE(Math.round(ageMs), 8);
  return bytes;
}
