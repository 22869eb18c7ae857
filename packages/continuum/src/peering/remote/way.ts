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
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

/** A connection that takes longer than this may have lost its first packet: another one is tried beside it. */
const SECOND_TRY_MS = 700;

/** How a site is reached: dialled at one of its endpoints, or over a connection that it has parked here. */
export class Way {
  readonly #options: WayOptions;
  readonly #open = new Set<Duplex>();
  #worked: string | undefined;

  constructor(options: WayOptions) {
    this.#options = options;
  }

  /** Whether it is asked over connections that it opens itself. */
  get tunnelled(): boolean {
    return this.#endpoints().length === 0;
  }

  async connect(signal: AbortSignal): Promise<Duplex> {
    const socket = this.tunnelled ? await this.#take(signal) : await this.#dial(signal);
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    return socket;
  }

  /** Those that are open now. */
  connections(): Duplex[] {
    return [...this.#open];
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #endpoints(): readonly string[] {
    return this.#options.site()?.spec?.endpoints ?? [];
  }

  #take(signal: AbortSignal): Promise<Duplex> {
    const { parked, id } = this.#options;
    if (parked === undefined) throw new NoWay(`the site ${id} has no endpoint`);
    return parked.take(id, signal);
  }

  async #dial(signal: AbortSignal): Promise<Duplex> {
    const endpoints = this.#endpoints();
    // The one that worked last comes first.
    const order = endpoints.toSorted((a, b) => Number(b === this.#worked) - Number(a === this.#worked));
    const failures: unknown[] = [];
    for (const endpoint of order) {
      try {
        const socket = await this.#race(endpoint, signal);
        this.#worked = endpoint;
        return socket;
      } catch (error) {
        if (signal.aborted) throw error;
        failures.push(error);
      }
    }
    throw failures.length === 1 ? failures[0] : new NoWay("no endpoint took a connection", { cause: failures[0] });
  }

  /** The first connection that comes about; a network that has just healed is not waited for by an old attempt alone. */
  async #race(endpoint: string, signal: AbortSignal): Promise<TLSSocket> {
    const { tls, id, clock, connectTimeoutMs: timeoutMs } = this.#options;
    const over = new AbortController();
    const any = AbortSignal.any([signal, over.signal]);
    const attempts: Promise<TLSSocket>[] = [];
    return await new Promise<TLSSocket>((resolve, reject) => {
      let failed = 0;
      let cancel = () => {};
      const finish = () => {
        cancel();
        over.abort(DECIDED);
      };
      const attempt = () => {
        const left = timeoutMs - attempts.length * SECOND_TRY_MS;
        const dialled = tls.connect(endpoint, id, { signal: any, timeoutMs: left });
        attempts.push(dialled);
        dialled.then(
          (socket) => {
            if (over.signal.aborted) return void socket.destroy();
            finish();
            resolve(socket);
          },
          (error) => {
            if (++failed < attempts.length) return;
            finish();
            reject(error);
          },
        );
        if (left > SECOND_TRY_MS) cancel = clock.after(SECOND_TRY_MS, attempt);
      };
      attempt();
    });
  }
}

/** For the attempts that came second; nobody hears it. */
const DECIDED = new Error("another attempt came first");

/** There is nowhere to connect to, or nobody there. */
export class NoWay extends Error {
  override readonly name = "NoWay";
}
