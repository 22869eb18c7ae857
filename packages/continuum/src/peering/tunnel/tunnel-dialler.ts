import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { aborted, Backoff, describeError, sleep, TokenBucket } from "@fjord/base";
import type { Means } from "../../home.ts";
import type { PeerIdentity, SiteId } from "../../site-identity.ts";
import type { PeerTls } from "../peer-tls.ts";
import { askUpgrade } from "./ask-upgrade.ts";
import { TunnelRefused } from "./errors.ts";
import { HeardPeer } from "./heard-peer.ts";
import { TUNNEL_PATH, TUNNEL_UPGRADE } from "./parked-connections.ts";

/** A peer that is to find connections of ours waiting for it. */
export interface DialledPeer {
  readonly id: SiteId;
  readonly endpoints: readonly string[];
}

export interface TunnelDiallerOptions extends Omit<Means, "metrics"> {
  readonly tls: PeerTls;
  /** Those to be dialled now: none where the own site has endpoints. */
  readonly peers: () => readonly DialledPeer[];
  /** Called when `peers` may give others. */
  readonly onPeersChange: (listener: () => void) => () => void;
  /** Serves a connection that the peer has begun to use. */
  readonly serve: (socket: Duplex, caller: PeerIdentity) => void;
  /** How many wait at each peer. @default 4 */
  readonly idle?: number;
  /** One that has waited for so long is replaced: what stands in between may have forgotten it. @default 30000 */
  readonly replaceAfterMs?: number;
  /** @default 3000 */
  readonly connectTimeoutMs?: number;
  /**
   * How often one peer may have us dial, at once and each second: who takes more connections means to keep us busy, or
   * loses them on the way. @default 256 and 20
   */
  readonly dials?: { readonly burst: number; readonly perSecond: number };
}

/** Keeps connections parked at peers, for a site that cannot be dialled itself. One that is taken is replaced at once. */
export class TunnelDialler {
  readonly #options: Required<TunnelDiallerOptions>;
  readonly #peers = new Map<SiteId, { readonly key: string; readonly stop: AbortController; run: Promise<unknown> }>();

  constructor(options: TunnelDiallerOptions) {
    const dials = { burst: 256, perSecond: 20 };
    this.#options = { idle: 4, replaceAfterMs: 30_000, connectTimeoutMs: 3_000, dials, ...options };
  }

  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#options.onPeersChange(() => this.#follow());
    this.#follow();
    await aborted(signal);
    unsubscribe();
    const runs = [...this.#peers.values()].map(({ stop, run }) => {
      stop.abort();
      return run;
    });
    this.#peers.clear();
    await Promise.all(runs);
  }

  #follow(): void {
    const wanted = new Map(this.#options.peers().map((peer) => [peer.id, peer]));
    for (const [id, { key, stop }] of this.#peers) {
      const peer = wanted.get(id);
      if (peer !== undefined && keyOf(peer) === key) continue;
      stop.abort();
      this.#peers.delete(id);
    }
    for (const peer of wanted.values()) {
      if (this.#peers.has(peer.id) || peer.endpoints.length === 0) continue;
      const stop = new AbortController();
      const heard = new HeardPeer(this.#options.clock, stop.signal);
      const pace = new TokenBucket({ ...this.#options.dials, clock: this.#options.clock });
      const lanes = Array.from({ length: this.#options.idle }, () => this.#lane(peer, heard, pace, stop.signal));
      this.#peers.set(peer.id, { key: keyOf(peer), stop, run: Promise.all(lanes) });
    }
  }

  /** Keeps one connection parked. */
  async #lane(peer: DialledPeer, heard: HeardPeer, pace: TokenBucket, signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    const backoff = new Backoff({ initial: 50, max: 1_000, random });
    while (!signal.aborted) {
      const wait = pace.reserve();
      if (wait > 0) await sleep(clock, wait, signal);
      if (signal.aborted) return;
      try {
        const socket = await this.#park(peer, signal);
        backoff.reset();
        if (!(await this.#taken(socket, heard, signal))) continue;
        heard.listenTo(socket);
        this.#options.serve(socket, this.#options.tls.identify(socket));
      } catch (error) {
        if (signal.aborted) return;
        const ms = backoff.next();
        // The first failure, and then one line in a while.
        if (Math.log2(backoff.failures) % 1 === 0)
          logger.info("cannot park a connection at a peer", { peer: peer.id, reason: describeError(error) });
        await sleep(clock, ms, signal);
      }
    }
  }

  async #park(peer: DialledPeer, signal: AbortSignal): Promise<TLSSocket> {
    let failure: unknown;
    for (const endpoint of peer.endpoints) {
      try {
        const timeoutMs = this.#options.connectTimeoutMs;
        const socket = await this.#options.tls.connect(endpoint, peer.id, { signal, timeoutMs });
        await this.#ask(socket, peer.id, signal);
        return socket;
      } catch (error) {
        if (signal.aborted) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** Offers the connection; resolves when the peer has taken it. */
  async #ask(socket: TLSSocket, site: SiteId, signal: AbortSignal): Promise<void> {
    const { clock, connectTimeoutMs: timeoutMs } = this.#options;
    try {
      await askUpgrade(socket, { host: site, path: TUNNEL_PATH, protocol: TUNNEL_UPGRADE, timeoutMs, clock, signal });
    } catch (error) {
      throw new TunnelRefused({ site, reason: describeError(error) }, { cause: error });
    }
  }

  /** Waits until the peer speaks; false, and the connection is ended, where it goes or has waited for too long. */
  #taken(socket: TLSSocket, heard: HeardPeer, signal: AbortSignal): Promise<boolean> {
    const { clock, random, replaceAfterMs } = this.#options;
    return new Promise((resolve) => {
      const finish = (taken: boolean) => {
        cancel();
        stopListening();
        signal.removeEventListener("abort", onGone);
        socket.off("readable", onReadable).off("end", onGone).off("close", onGone);
        if (!taken) socket.destroy();
        resolve(taken);
      };
      const onReadable = () => {
        const head: Buffer | null = socket.read();
        if (head === null) return;
        socket.unshift(head);
        finish(true);
      };
      const onGone = () => finish(false);
      const cancel = clock.after(replaceAfterMs * (1 - 0.3 * random()), onGone);
      const stopListening = heard.onSilence(onGone);
      socket.on("error", () => {});
      socket.on("readable", onReadable).on("end", onGone).on("close", onGone);
      signal.addEventListener("abort", onGone, { once: true });
      if (signal.aborted || socket.destroyed) onGone();
    });
  }
}

function keyOf({ endpoints }: DialledPeer): string {
  return endpoints.join(" ");
}
