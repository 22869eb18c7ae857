import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { PeerIdentity, SiteId } from "../../site-identity.ts";
import { FairShare } from "./fair-share.ts";
import type { PeerLimits } from "./peer-limits.ts";
import type { PeerMetrics } from "./peer-metrics.ts";

/** Who is at the other end of each open connection, and how many each has. */
export class Connections {
  readonly #limits: PeerLimits;
  readonly #metrics: PeerMetrics;
  readonly #open = new Map<Duplex, PeerIdentity | string>();
  readonly #perPeer = new Map<SiteId, number>();
  /** By the address and the port at the other end. */
  readonly #shaking = new Map<string, Socket>();
  readonly #handshakes: FairShare<Socket>;
  readonly #strangers: FairShare<Duplex>;
  #over = false;

  constructor(limits: PeerLimits, metrics: PeerMetrics) {
    this.#limits = limits;
    this.#metrics = metrics;
    this.#handshakes = new FairShare(limits.handshakes);
    this.#strangers = new FairShare(limits.connectionsOfStrangers);
  }

  /**
   * A connection whose end has yet to say who it is. Nobody is known by it but its address: where there are too many of them, whoever has most loses
   * the oldest, so that peers at other addresses are let in.
   */
  begin(socket: Socket): void {
    const key = endOf(socket);
    this.#shaking.set(key, socket);
    const ended = this.#handshakes.add(socket, socket.remoteAddress ?? "");
    socket.once("close", () => {
      this.#handshakes.delete(socket);
      if (this.#shaking.get(key) === socket) this.#shaking.delete(key);
    });
    if (ended !== undefined) this.#end(ended, "TooManyHandshakes");
  }

  /** The same connection, of which is known now whose it is. */
  settle(socket: Duplex): void {
    const key = endOf(socket);
    const begun = this.#shaking.get(key);
    this.#shaking.delete(key);
    if (begun !== undefined) this.#handshakes.delete(begun);
  }

  has(socket: Duplex): boolean {
    return this.#open.has(socket);
  }

  /** The identity, or why there is none. */
  get(socket: Duplex): PeerIdentity | string | undefined {
    return this.#open.get(socket);
  }

  /** False, and the connection is ended, where there are too many. */
  add(socket: Duplex, identity: PeerIdentity, known: boolean): boolean {
    const count = this.#perPeer.get(identity.id) ?? 0;
    if (this.#refuse(socket)) return false;
    if (count >= this.#limits.connectionsPerPeer) return this.#end(socket, "TooManyOfPeer");
    this.#perPeer.set(identity.id, count + 1);
    this.#track(socket, identity, !known);
    return true;
  }

  addUnidentified(socket: Duplex, reason: string): boolean {
    if (this.#refuse(socket)) return false;
    this.#track(socket, reason, true);
    return true;
  }

  /** Ends all of them, and those at once that are still shaking hands and come later. */
  destroy(): void {
    this.#over = true;
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #refuse(socket: Duplex): boolean {
    if (this.#over) {
      socket.destroy();
      return true;
    }
    return this.#open.size >= this.#limits.connections && !this.#end(socket, "TooMany");
  }

  #end(socket: Duplex, reason: string): false {
    this.#metrics.connectionRefused(reason);
    socket.destroy();
    return false;
  }

  #track(socket: Duplex, identity: PeerIdentity | string, stranger: boolean): void {
    this.#open.set(socket, identity);
    const ended = stranger ? this.#strangers.add(socket, (socket as Partial<Socket>).remoteAddress ?? "") : undefined;
    if (ended !== undefined) this.#end(ended, "TooManyStrangers");
    this.#metrics.connections(this.#open.size);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#strangers.delete(socket);
      if (typeof identity !== "string") this.#forget(identity.id);
      this.#metrics.connections(this.#open.size);
    });
  }

  #forget(id: SiteId): void {
    const left = (this.#perPeer.get(id) ?? 1) - 1;
    if (left === 0) this.#perPeer.delete(id);
    else this.#perPeer.set(id, left);
  }
}

function endOf(socket: Duplex): string {
  const { remoteAddress = "", remotePort = 0 } = socket as Partial<Socket>;
  return `${remoteAddress} ${remotePort}`;
}
