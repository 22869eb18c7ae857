import { type Clock, describeError, type Logger, steadyNow } from "@fjord/base";
import { linkAddress } from "../link-address.ts";
import type { PeerSigns } from "./link-life.ts";
import { answerBytes, questionBytes, readProbeMessage, wordBytes } from "./probe-message.ts";
import { OFTEN_MS, type Pace, type ProbedLink, ProbedPeer, type Waiting } from "./probed-peer.ts";

/** Sends to, and hears of, other gateways. */
export interface ProbeSocket {
  send(bytes: Buffer, address: string): void;
  close(): void;
}

export type OpenProbeSocket = (address: string, heard: (bytes: Buffer, from: string) => void) => Promise<ProbeSocket>;

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

/** Peers that are due are asked together, not each by a timer of its own. */
const PULSE_MS = 100;
const OPEN_AGAIN_MS = 10_000;
const SMALL = 64;

/**
 * Asks the gateways of peers over their links, and answers theirs: how long it takes, how much is lost, how large a packet may be. Nobody but a
 * peer can ask or answer in its name, as WireGuard knows whose address it is.
 */
export class LinkProbe {
  readonly #options: LinkProbeOptions;
  readonly #peers = new Map<string, ProbedPeer>();
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
      const peer = new ProbedPeer(linkAddress(siteId, this.#lane), mtu, this.#options.random ?? Math.random);
      this.#peers.set(siteId, peer);
      this.#siteIds.set(peer.address, siteId);
    }
    this.#pulse();
  }

  /** All peers are asked at the next tick, whenever they were asked last. */
  hurry(): void {
    for (const peer of this.#peers.values()) peer.hurry();
  }

  /** Says to a peer that the direct way is tried now. It also is something to send, which opens a NAT on the way. */
  invite(siteId: string): void {
    const peer = this.#peers.get(siteId);
    if (peer !== undefined) this.#socket?.send(questionBytes({ size: SMALL, number: 0, isTrying: true }), peer.address);
  }

  /** Calls whenever a peer says so. */
  onInvited(listener: (siteId: string) => void): void {
    this.#invited = listener;
  }

  /** Says something to a peer, which may not hear it. */
  say(siteId: string, word: Buffer): void {
    const peer = this.#peers.get(siteId);
    if (peer !== undefined) this.#socket?.send(wordBytes(word), peer.address);
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
    return this.#peers.get(siteId)?.signs;
  }

  seen(siteId: string): ProbedLink {
    return this.#peers.get(siteId)?.seen ?? {};
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
    for (const [siteId, peer] of this.#peers) {
      peer.giveUp(now, this.#precise());
      const { everyMs } = this.#pace(siteId);
      peer.keepPace(everyMs, now);
      if (now >= peer.dueAt) this.#ask(peer, SMALL, { isAgain: peer.ask(everyMs, now) });
      const size = peer.nextSize(now);
      if (size !== undefined) this.#ask(peer, size, { size });
      next = Math.min(next, peer.dueAt);
      isLate ||= peer.isMissed(now);
    }
    const isNew = isLate && !this.#isLate;
    this.#isLate = isLate;
    if (isNew) this.#late();
    if (next !== Number.POSITIVE_INFINITY)
      this.#cancel = this.#options.clock.after(Math.max(next - now, PULSE_MS), () => this.#pulse());
  }

  #pace(siteId: string): Pace {
    const { everyMs: seldomMs = 5_000 } = this.#options;
    return { seldomMs, everyMs: this.#often.has(siteId) ? Math.min(seldomMs, this.#oftenMs) : seldomMs };
  }

  #ask(peer: ProbedPeer, size: number, sought: Omit<Waiting, "sentAt">): void {
    this.#number = (this.#number % 0xffff_ffff) + 1;
    peer.wait(this.#number, { sentAt: this.#precise(), ...sought });
    const heardMsAgo = peer.heardAt === undefined ? undefined : this.#now() - peer.heardAt;
    this.#socket?.send(questionBytes({ size, number: this.#number, heardMsAgo }), peer.address);
  }

  #heard(bytes: Buffer, from: string): void {
    const message = readProbeMessage(bytes);
    const siteId = this.#siteIds.get(from) ?? "";
    const peer = this.#peers.get(siteId);
    const now = this.#now();
    if (message === undefined || peer === undefined || peer.isTooMuch(now)) return;
    if (message.says === "word") {
      this.#said(siteId, message.word);
      return;
    }
    if (message.says === "answer") {
      const latencyMs = peer.answered(message.number, message.size, this.#pace(siteId).everyMs, now, this.#precise());
      if (latencyMs !== undefined) this.#options.answered?.(siteId, latencyMs);
      return;
    }
    peer.questioned(now);
    if (message.isTrying) {
      peer.invited(now);
      this.#invited(siteId);
    }
    if (message.heardMsAgo !== undefined) peer.told(message.heardMsAgo, this.#pace(siteId), now);
    this.#socket?.send(answerBytes(bytes), from);
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
