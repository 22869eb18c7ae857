import type { SiteId } from "../../site-identity.ts";

/** How many questions of each peer are being answered. A peer may send many on one connection before it hears a word. */
export class RequestsAtOnce {
  readonly #most: number;
  readonly #open = new Map<SiteId, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** What is to be called when the answer is there; undefined where the peer has to wait for others first. */
  begin(peer: SiteId): (() => void) | undefined {
    const count = this.#open.get(peer) ?? 0;
    if (count >= this.#most) return undefined;
    this.#open.set(peer, count + 1);
    return () => this.#end(peer);
  }

  #end(peer: SiteId): void {
    const left = (this.#open.get(peer) ?? 1) - 1;
    if (left === 0) this.#open.delete(peer);
    else this.#open.set(peer, left);
  }
}
