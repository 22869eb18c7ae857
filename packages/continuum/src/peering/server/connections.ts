import type { Duplex } from "node:stream";
import type { PeerIdentity, SiteId } from "../../site-identity.ts";
import type { PeerLimits } from "./peer-limits.ts";
import type { PeerMetrics } from "./peer-metrics.ts";

/** Who is at the other end of each open connection, and how many each has. */
export class Connections {
  readonly #limits: PeerLimits;
  readonly #metrics: PeerMetrics;
  readonly #open = new Map<Duplex, PeerIdentity | string>();
  readonly #perPeer = new Map<SiteId, number>();
  #strangers = 0;
  #over = false;

  constructor(limits: PeerLimits, metrics: PeerMetrics) {
    this.#limits = limits;
    this.#metrics = metrics;
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
    if (this.#refuse(socket, !known)) return false;
    if (count >= this.#limits.connectionsPerPeer) return this.#end(socket, "TooManyOfPeer");
    this.#perPeer.set(identity.id, count + 1);
    this.#track(socket, identity, !known);
    return true;
  }

  addUnidentified(socket: Duplex, reason: string): boolean {
    if (this.#refuse(socket, true)) return false;
    this.#track(socket, reason, true);
    return true;
  }

  /** Ends all of them, and those at once that are still shaking hands and come later. */
  destroy(): void {
    this.#over = true;
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #refuse(socket: Duplex, stranger: boolean): boolean {
    if (this.#over) {
      socket.destroy();
      return true;
    }
    if (this.#open.size >= this.#limits.connections) return !this.#end(socket, "TooMany");
    if (stranger && this.#strangers >= this.#limits.connectionsOfStrangers)
      return !this.#end(socket, "TooManyStrangers");
    return false;
  }

  #end(socket: Duplex, reason: string): false {
    this.#metrics.connectionRefused(reason);
    socket.destroy();
    return false;
  }

  #track(socket: Duplex, identity: PeerIdentity | string, stranger: boolean): void {
    this.#open.set(socket, identity);
    if (stranger) this.#strangers++;
    this.#metrics.connections(this.#open.size);
    socket.once("close", () => {
      this.#open.delete(socket);
      if (stranger) this.#strangers--;
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
