import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "@fjord/base";
import type { Caller, RawRoute } from "../../peer-routes.ts";
import { PROTOCOL } from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";
import { refused } from "../server/answers.ts";
import { NoParkedConnection } from "./errors.ts";

export const TUNNEL_PATH = `${PROTOCOL}/tunnel`;
export const TUNNEL_UPGRADE = "fjord-tunnel";

export interface ParkedConnectionsOptions {
  readonly clock: Clock;
  /** How many idle ones of one site are kept; the oldest goes. @default 16 */
  readonly perSite?: number;
  /** How long `take` waits for one to come. @default 2000 */
  readonly waitMs?: number;
}

type Waiter = (socket: Duplex) => void;

/** Connections that sites without an endpoint have opened to be asked over. Whoever takes one speaks HTTP as a client. */
export class ParkedConnections implements RawRoute {
  readonly prefix = TUNNEL_PATH;
  /** Nothing is asked by it of this site. */
  readonly access = "parting";
  readonly #options: Required<ParkedConnectionsOptions>;
  readonly #parked = new Map<SiteId, Duplex[]>();
  readonly #waiting = new Map<SiteId, Set<Waiter>>();
  readonly #listeners = new Set<(id: SiteId) => void>();

  constructor(options: ParkedConnectionsOptions) {
    this.#options = { perSite: 16, waitMs: 2_000, ...options };
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, { id }: Caller): void {
    if (request.method !== "POST" || request.url !== TUNNEL_PATH || request.headers.upgrade !== TUNNEL_UPGRADE)
      throw refused(400, "NoTunnel", `a tunnel is a POST of ${TUNNEL_PATH} with the upgrade ${TUNNEL_UPGRADE}`);
    // The next word is ours.
    if (head.length > 0) throw refused(400, "NoTunnel", "nothing may follow the request for a tunnel");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${TUNNEL_UPGRADE}\r\n\r\n`);
    this.#park(id, socket);
  }

  count(id: SiteId): number {
    return this.#parked.get(id)?.length ?? 0;
  }

  /** The newest one, or the next that comes. Throws `NoParkedConnection`, or the signal's reason. */
  take(id: SiteId, signal?: AbortSignal): Promise<Duplex> {
    const parked = this.#parked.get(id);
    for (let socket = parked?.pop(); socket !== undefined; socket = parked?.pop()) {
      if (parked?.length === 0) this.#parked.delete(id);
      if (socket.writable && socket.readable) return Promise.resolve(unpark(socket));
    }
    return this.#next(id, signal);
  }

  /** Ends those that wait: their site is away, and so they are worth nothing. */
  drop(id: SiteId): void {
    for (const socket of this.#parked.get(id) ?? []) socket.destroy();
    this.#parked.delete(id);
  }

  /** Called with the site of which a connection came. */
  onParked(listener: (id: SiteId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #park(id: SiteId, socket: Duplex): void {
    const [waiter] = this.#waiting.get(id) ?? [];
    if (waiter !== undefined) {
      waiter(socket);
      return;
    }
    const parked = this.#parked.get(id) ?? [];
    this.#parked.set(id, parked);
    parked.push(socket);
    socket.once("close", () => this.#drop(id, socket));
    // Who is parked is to be silent; reading also tells us when it goes.
    socket.on("data", onUnexpected).on("end", onEnd).resume();
    if (parked.length > this.#options.perSite) parked.shift()?.destroy();
    for (const listener of this.#listeners) listener(id);
  }

  #drop(id: SiteId, socket: Duplex): void {
    const parked = this.#parked.get(id);
    const index = parked?.indexOf(socket) ?? -1;
    if (parked === undefined || index === -1) return;
    parked.splice(index, 1);
    if (parked.length === 0) this.#parked.delete(id);
  }

  #next(id: SiteId, signal: AbortSignal | undefined): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiting.get(id) ?? new Set();
      this.#waiting.set(id, waiters);
      const finish = () => {
        cancel();
        signal?.removeEventListener("abort", onAbort);
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#waiting.get(id) === waiters) this.#waiting.delete(id);
      };
      const waiter: Waiter = (socket) => {
        finish();
        resolve(socket);
      };
      const onAbort = () => {
        finish();
        reject(signal?.reason);
      };
      const cancel = this.#options.clock.after(this.#options.waitMs, () => {
        finish();
        reject(new NoParkedConnection({ site: id }));
      });
      waiters.add(waiter);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}

function onUnexpected(this: Duplex): void {
  this.destroy();
}

function onEnd(this: Duplex): void {
  this.destroy();
}

function unpark(socket: Duplex): Duplex {
  // It stays in flow: whoever asks over it would have to resume one that was paused, and nothing comes before that.
  return socket.off("data", onUnexpected).off("end", onEnd);
}
