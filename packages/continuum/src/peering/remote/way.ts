import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Site } from "@fjord/api";
import type { Clock } from "@fjord/base";
import type { SiteId } from "../../site-identity.ts";
import type { PeerTls } from "../peer-tls.ts";
import type { ParkedConnections } from "../tunnel/parked-connections.ts";

export interface WayOptions {
  readonly id: SiteId;
  readonly site: () => Site | undefined;
  readonly tls: PeerTls;
  readonly parked?: ParkedConnections;
  /** How long a connection may take at first. Where none came about in that time, the next ones are given more. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

type Protocols = readonly string[] | undefined;

export interface ConnectionWish {
  /** @default false */
  readonly lasting?: boolean;
  /** What may be spoken over it, the best first. One that the site has parked is for HTTP/1.1 whatever is wished. @default that alone */
  readonly protocols?: Protocols;
}

/** The most that a connection is ever given: a machine that is busy beyond measure shakes hands within that. */
export const LONGEST_CONNECT_MS = 24_000;

/** What a connection that lasts has: people would rather wait than hear of a site that is slow. */
const LASTING_CONNECT_MS = 10_000;

/** A connection that takes longer than this may have lost its first packet: another one is tried beside it. */
const SECOND_TRY_MS = 700;
/** More at once would be one more burden on whoever is slow. The first of them is never given up for a later one. */
const MOST_TRIES = 4;

/** How a site is reached: dialled at one of its endpoints, or over a connection that it has parked here. */
export class Way {
  readonly #options: WayOptions;
  /** Each with how many bytes it had given before it was of use here: a parked one may have waited through a silence. */
  readonly #open = new Map<Duplex, number>();
  readonly #lasting = new WeakSet<Duplex>();
  #worked: string | undefined;
  #patienceMs: number;
  #receivedBefore = 0;

  constructor(options: WayOptions) {
    this.#options = options;
    this.#patienceMs = options.connectTimeoutMs;
  }

  /** How many bytes have come so far, by all connections together. */
  received(): number {
    return this.#open.entries().reduce((sum, [socket, before]) => sum + bytesOf(socket) - before, this.#receivedBefore);
  }

  /** Whether it is asked over connections that it opens itself. */
  get tunnelled(): boolean {
    return this.#endpoints().length === 0;
  }

  /** Whether there is nothing to ask it over: it has no endpoint, and has opened no connection either. */
  get isMissing(): boolean {
    const { parked, id } = this.#options;
    return this.tunnelled && this.#open.size === 0 && (parked?.count(id) ?? 0) === 0;
  }

  /**
   * One that lasts is not among `connections`: whoever uses it notices by itself when nobody is there any more. It also has more
   * time to come about.
   */
  async connect(signal: AbortSignal, { lasting = false, protocols }: ConnectionWish = {}): Promise<Duplex> {
    const { tunnelled } = this;
    const patienceMs = Math.max(this.#patienceMs, lasting ? LASTING_CONNECT_MS : 0);
    const socket = tunnelled ? await this.#take(signal) : await this.#dial(signal, patienceMs, protocols);
    const before = tunnelled ? bytesOf(socket) : 0;
    this.#open.set(socket, before);
    if (lasting) this.#lasting.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#receivedBefore += bytesOf(socket) - before;
    });
    return socket;
  }

  /** Those that are open now, but for those that last. */
  connections(): Duplex[] {
    return [...this.#open.keys()].filter((socket) => !this.#lasting.has(socket));
  }

  destroy(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #endpoints(): readonly string[] {
    return this.#options.site()?.spec?.endpoints ?? [];
  }

  #take(signal: AbortSignal): Promise<Duplex> {
    const { parked, id } = this.#options;
    if (parked === undefined) throw new NoWay(`the site ${id} has no endpoint`);
    return parked.take(id, signal);
  }

  async #dial(signal: AbortSignal, patienceMs: number, protocols: Protocols): Promise<Duplex> {
    const endpoints = this.#endpoints();
    // The one that worked last comes first.
    const order = endpoints.toSorted((a, b) => Number(b === this.#worked) - Number(a === this.#worked));
    const failures: unknown[] = [];
    const { clock, connectTimeoutMs } = this.#options;
    const began = clock.now();
    for (const endpoint of order) {
      const from = clock.now();
      try {
        const socket = await this.#race(endpoint, signal, patienceMs, protocols);
        this.#worked = endpoint;
        // Whoever has taken long may take long again.
        this.#patienceMs = Math.min(Math.max(connectTimeoutMs, 2 * (clock.now() - from)), LONGEST_CONNECT_MS);
        return socket;
      } catch (error) {
        if (signal.aborted) throw error;
        failures.push(error);
      }
    }
    // It may be there, and have had no time to say so.
    const wasInTime = clock.now() - began < patienceMs;
    if (!wasInTime) this.#patienceMs = Math.min(2 * this.#patienceMs, LONGEST_CONNECT_MS);
    throw failures.length === 1 ? failures[0] : new NoWay("no endpoint took a connection", { cause: failures[0] });
  }

  /** The first connection that comes about; a network that has just healed is not waited for by an old attempt alone. */
  async #race(endpoint: string, signal: AbortSignal, timeoutMs: number, protocols: Protocols): Promise<TLSSocket> {
    const { tls, id, clock } = this.#options;
    const over = new AbortController();
    const live: AbortController[] = [];
    return await new Promise<TLSSocket>((resolve, reject) => {
      let begun = 0;
      let failed = 0;
      let first: unknown;
      let cancel = () => {};
      const finish = () => {
        cancel();
        over.abort(DECIDED);
      };
      const attempt = () => {
        const isFirst = begun === 0;
        const left = timeoutMs - begun * SECOND_TRY_MS;
        const own = new AbortController();
        if (live.length >= MOST_TRIES) live.splice(1, 1)[0]?.abort(DECIDED);
        live.push(own);
        const dialled = tls.connect(endpoint, id, {
          signal: AbortSignal.any([signal, over.signal, own.signal]),
          timeoutMs: left,
          ...(protocols && { protocols }),
        });
        begun++;
        dialled.then(
          (socket) => {
            if (over.signal.aborted) return void socket.destroy();
            finish();
            resolve(socket);
          },
          (error) => {
            const index = live.indexOf(own);
            if (index >= 0) live.splice(index, 1);
            // The others had less time, and would say so.
            if (isFirst) first = error;
            if (++failed < begun) return;
            finish();
            reject(first ?? error);
          },
        );
        if (left > SECOND_TRY_MS) cancel = clock.after(SECOND_TRY_MS, attempt);
      };
      attempt();
    });
  }
}

function bytesOf(socket: Duplex): number {
  return (socket as { bytesRead?: number }).bytesRead ?? 0;
}

/** For the attempts that came second; nobody hears it. */
const DECIDED = new Error("another attempt came first");

/** There is nowhere to connect to, or nobody there. */
export class NoWay extends Error {
  override readonly name = "NoWay";
}
