import { type Clock, describeError, type Logger } from "@fjord/base";
import { linkAddress } from "../link-address.ts";
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
  /** Hears of each answer. */
  readonly answered?: (siteId: string, latencyMs: number) => void;
  /** @default 5,000 */
  readonly everyMs?: number;
  /** That is probed. @default 0, the first one */
  readonly lane?: number;
}

interface Probed {
  readonly address: string;
  /** Whether each of the last ones was answered, and how soon. */
  results: (number | "lost")[];
  waiting: Map<number, { readonly sentAt: number; readonly size?: number }>;
  sentAt: number;
  hasAnswered: boolean;
  answeredAt: number;
  search: MtuSearch;
}

const LAST = 20;
const LOST_MS = 2_000;
/** At every tick, of a second or half of one. */
const OFTEN_MS = 400;
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

  constructor(options: LinkProbeOptions) {
    this.#options = options;
  }

  /** Probes those that are due among these peers; others are forgotten. `mtu` is the interface's; those of `often` are asked every time. */
  async tick(
    own: string,
    peers: readonly string[],
    mtu: number,
    often: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    const now = this.#now();
    await this.#open(own, now);
    const known = new Set(peers);
    for (const [siteId, { address }] of this.#peers) {
      if (known.has(siteId)) continue;
      this.#peers.delete(siteId);
      this.#siteIds.delete(address);
    }
    if (mtu !== this.#mtu) this.#peers.clear();
    this.#mtu = mtu;
    for (const siteId of peers) {
      const probed = this.#peers.get(siteId) ?? begin(siteId, this.#lane, mtu);
      this.#peers.set(siteId, probed);
      this.#siteIds.set(probed.address, siteId);
      this.#giveUp(probed, now);
      if (this.#socket === undefined) continue;
      const { everyMs = 5_000 } = this.#options;
      // Who owes an answer is asked again soon: it may have gone elsewhere.
      const isOften = often.has(siteId) || (probed.hasAnswered && this.#isLate(probed));
      if (now - probed.sentAt >= (isOften ? Math.min(everyMs, OFTEN_MS) : everyMs)) {
        probed.sentAt = now;
        this.#ask(probed, SMALL);
      }
      const size = probed.hasAnswered ? probed.search.next(now) : undefined;
      if (size !== undefined) this.#ask(probed, size, size);
    }
  }

  /** At the next tick all peers are asked, whenever they were asked last. */
  hurry(): void {
    for (const probed of this.#peers.values()) probed.sentAt = Number.NEGATIVE_INFINITY;
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

  seen(siteId: string): ProbedLink {
    const probed = this.#peers.get(siteId);
    if (!probed?.hasAnswered) return {};
    const times = probed.results.filter((each) => each !== "lost").toSorted((a, b) => a - b);
    const median = times[Math.floor(times.length / 2)];
    const { found } = probed.search;
    return {
      ...(median !== undefined && { latencyMs: median }),
      lossPercent: Math.round((100 * (probed.results.length - times.length)) / probed.results.length),
      ...(found !== undefined && { mtu: found }),
    };
  }

  /** When it last did, by the clock. */
  answeredAt(siteId: string): number | undefined {
    const probed = this.#peers.get(siteId);
    return probed?.hasAnswered ? probed.answeredAt : undefined;
  }

  close(): void {
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

  #ask(probed: Probed, size: number, searched?: number): void {
    this.#number = (this.#number % 0xffff_ffff) + 1;
    probed.waiting.set(this.#number, {
      sentAt: this.#precise(),
      ...(searched !== undefined && { size: searched }),
    });
    this.#socket?.send(question(size, this.#number, 0), probed.address);
  }

  #heard(bytes: Buffer, from: string): void {
    if (bytes.length < 8 || bytes.readUInt16BE(0) !== MAGIC) return;
    const siteId = this.#siteIds.get(from) ?? "";
    const probed = this.#peers.get(siteId);
    if (probed === undefined) return;
    if (bytes.readUInt8(2) === ASK) {
      if (bytes.readUInt8(3) === TRYING) this.#invited(siteId);
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
    probed.answeredAt = this.#now();
    if (asked.size !== undefined) {
      if (bytes.length === asked.size - HEADERS) probed.search.passed(asked.size, this.#now());
      return;
    }
    const latencyMs = this.#precise() - asked.sentAt;
    this.#note(probed, latencyMs);
    this.#options.answered?.(siteId, latencyMs);
  }

  #isLate({ waiting, results }: Probed): boolean {
    if (results.at(-1) === "lost") return true;
    for (const { sentAt, size } of waiting.values())
      if (size === undefined && this.#precise() - sentAt >= OFTEN_MS) return true;
    return false;
  }

  /** What is not answered by now is lost. */
  #giveUp(probed: Probed, now: number): void {
    for (const [number, { sentAt, size }] of probed.waiting) {
      if (this.#precise() - sentAt < LOST_MS) continue;
      probed.waiting.delete(number);
      if (size !== undefined) probed.search.failed(size, now);
      // One that has never answered may not be there yet.
      else if (probed.hasAnswered) this.#note(probed, "lost");
    }
  }

  #note(probed: Probed, result: number | "lost"): void {
    probed.results = [...probed.results, result].slice(-LAST);
  }

  get #lane(): number {
    return this.#options.lane ?? 0;
  }

  #now(): number {
    return this.#options.clock.now();
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
    sentAt: Number.NEGATIVE_INFINITY,
    hasAnswered: false,
    answeredAt: 0,
    search: new MtuSearch(mtu),
  };
}

function question(size: number, number: number, flags: number): Buffer {
  const bytes = Buffer.alloc(Math.max(size - HEADERS, 8));
  bytes.writeUInt16BE(MAGIC, 0);
  bytes.writeUInt8(ASK, 2);
  bytes.writeUInt8(flags, 3);
  bytes.writeUInt32BE(number, 4);
  return bytes;
}
