import type { Duplex } from "node:stream";
import type { Clock } from "@fjord/base";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { CONNECT_PATH, CONNECT_UPGRADE, type Open, type Opened, openText, parseOpened } from "./carried-open.ts";
import { readMessage, writeMessage } from "./messages.ts";

export interface CarriersOptions {
  readonly sites: Pick<RemoteSites, "get">;
  readonly clock: Clock;
  /** How many wait at a peer, at most. @default 8 */
  readonly kept?: number;
  /** How many are opened ahead at a peer that is used. @default 2 */
  readonly ahead?: number;
}

/** What a stream has waited for so long is worth nothing: the peer closes it a while later. */
const IDLE_MS = 30_000;
/** A peer that nobody has asked for so long has no streams opened ahead. */
const USED_MS = 60_000;
const ANSWER_MS = 15_000;

interface Kept {
  readonly stream: Duplex;
  readonly forget: () => void;
}

interface Peer {
  readonly idle: Kept[];
  lastTaker: string;
  lastUsed: number;
  opening: number;
}

/** A stream that has been told what to carry, and what was answered. */
export interface Asked {
  readonly stream: Duplex;
  readonly opened: Exclude<Opened, { refusal: unknown }>;
}

/**
 * Streams to peers over which connections are carried, one after the other. Some wait, so that a new connection costs no handshake: those that have
 * carried one in order, and some that are opened ahead. The last one that waits is not for the namespace that has had the one before.
 */
export class Carriers {
  readonly #options: Required<CarriersOptions>;
  readonly #peers = new Map<SiteId, Peer>();
  readonly #ended = new AbortController();

  constructor(options: CarriersOptions) {
    this.#options = { kept: 8, ahead: 2, ...options };
  }

  /** Throws `PeerRefused` where the peer says no, which leaves the stream for others. */
  async ask(site: SiteId, namespace: string, open: Open, signal: AbortSignal): Promise<Asked> {
    for (;;) {
      const waiting = this.#take(site, namespace);
      const stream = waiting ?? (await this.#open(site, signal));
      if (waiting !== undefined) this.#openAhead(site);
      writeMessage(stream, openText(open));
      const text = await readMessage(stream, ANSWER_MS, signal);
      signal.throwIfAborted();
      // One that has waited may have been closed meanwhile: nothing has been sent over it that would be sent twice.
      if (text === undefined && waiting !== undefined) continue;
      const opened = text === undefined ? undefined : parseOpened(text);
      if (opened === undefined) {
        stream.destroy();
        throw new Error("the peer's agent gave no answer");
      }
      if (waiting === undefined) this.#openAhead(site);
      if (!("refusal" in opened)) return { stream, opened };
      this.giveBack(site, stream);
      throw new PeerRefused(opened.refusal, 403);
    }
  }

  /** One over which nothing is carried any more. */
  giveBack(site: SiteId, stream: Duplex): void {
    const peer = this.#peer(site);
    if (stream.destroyed || this.#ended.signal.aborted || peer.idle.length >= this.#options.kept) {
      stream.destroy();
      return;
    }
    const gone = () => {
      const index = peer.idle.findIndex((each) => each.stream === stream);
      if (index >= 0) peer.idle.splice(index, 1)[0]?.forget();
      stream.destroy();
    };
    const cancel = this.#options.clock.after(IDLE_MS, gone);
    const forget = () => {
      cancel();
      stream.off("data", gone).off("end", gone).off("close", gone).off("error", gone).pause();
    };
    peer.idle.push({ stream, forget });
    // Nobody has asked: whoever speaks now speaks something else.
    stream.on("data", gone).on("end", gone).on("close", gone).on("error", gone).resume();
  }

  /** How many wait. */
  idle(site: SiteId): number {
    return this.#peers.get(site)?.idle.length ?? 0;
  }

  end(): void {
    this.#ended.abort();
    for (const { idle } of this.#peers.values()) for (const { stream } of [...idle]) stream.destroy();
  }

  #take(site: SiteId, namespace: string): Duplex | undefined {
    const peer = this.#peer(site);
    peer.lastUsed = this.#options.clock.now();
    if (peer.idle.length === 1 && peer.lastTaker === namespace) return undefined;
    const kept = peer.idle.pop();
    if (kept === undefined) return undefined;
    peer.lastTaker = namespace;
    kept.forget();
    return kept.stream.destroyed ? this.#take(site, namespace) : kept.stream;
  }

  #openAhead(site: SiteId): void {
    const peer = this.#peer(site);
    const { ahead, clock } = this.#options;
    if (peer.idle.length + peer.opening >= ahead || this.#ended.signal.aborted) return;
    if (clock.now() - peer.lastUsed > USED_MS) return;
    peer.opening++;
    this.#open(site, AbortSignal.any([this.#ended.signal, AbortSignal.timeout(ANSWER_MS)])).then(
      (stream) => {
        peer.opening--;
        this.giveBack(site, stream);
        this.#openAhead(site);
      },
      // The next one who asks hears why.
      () => void peer.opening--,
    );
  }

  async #open(site: SiteId, signal: AbortSignal): Promise<Duplex> {
    const remote = this.#options.sites.get(site);
    if (remote === undefined) throw new Error("the site is not known");
    const stream = await remote.connect(CONNECT_PATH, CONNECT_UPGRADE, signal);
    return stream.on("error", () => {});
  }

  #peer(site: SiteId): Peer {
    const peer = this.#peers.get(site) ?? { idle: [], lastTaker: "", lastUsed: 0, opening: 0 };
    this.#peers.set(site, peer);
    return peer;
  }
}
