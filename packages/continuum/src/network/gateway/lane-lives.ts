import { type Clock, steadyNow } from "@fjord/base";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { isShared, laneCountOf, lanedPeers, lanesOf } from "./carried-lanes.ts";
import { LaneLife } from "./lane-life.ts";

/** Which lanes of links are silent, of those that this node carries. */
export class LaneLives {
  readonly #clock: Clock;
  readonly #answeredAt: (siteId: string, lane: number) => number | undefined;
  /** By lane and site. */
  readonly #lives = new Map<string, LaneLife>();

  /** `answeredAt` says when a peer last answered on a lane; by the clock. */
  constructor(clock: Clock, answeredAt: (siteId: string, lane: number) => number | undefined) {
    this.#clock = clock;
    this.#answeredAt = answeredAt;
  }

  /** Of a peer's lanes those that are here and silent. One that answers again is taken when it is proven, and at once where no other does, here or by the word of other nodes. */
  silentLanes({ siteId, link }: PeerNetwork, state: NetworkState): number[] {
    const all = Array.from({ length: laneCountOf(link, state) }, (_, lane) => lane);
    const here = lanesOf(state).filter((lane) => lane < all.length);
    const now = steadyNow(this.#clock);
    const lives = new Map(here.map((lane) => [lane, this.#life(siteId, lane, state)]));
    const states = new Map([...lives].map(([lane, life]) => [lane, life.look(now, this.#answeredAt(siteId, lane))]));
    const isAlive = (lane: number) => (states.has(lane) ? states.get(lane) === "alive" : !link.silent?.includes(lane));
    if (all.some(isAlive)) return here.filter((lane) => states.get(lane) !== "alive");
    for (const [lane, life] of lives) if (states.get(lane) === "proving") life.take();
    return here.filter((lane) => states.get(lane) === "silent");
  }

  /**
   * Of lanes that are here, nobody else need be asked how they are. Where other nodes have some, they are told first that one is silent: they would else go on to send what is
   * for it here, and from here it would go back to them.
   */
  withSilent(peers: readonly PeerNetwork[], state: NetworkState): readonly PeerNetwork[] {
    const here = lanesOf(state);
    const laned = lanedPeers(state);
    this.#keepOnly(new Set(peers.map(({ siteId }) => siteId)));
    return peers.map((peer) => {
      if (!laned.has(peer.siteId)) return peer;
      const { silent: told = [], ...link } = peer.link;
      const silent = [
        ...this.silentLanes(peer, state).filter((lane) => !isShared(state) || told.includes(lane)),
        ...told.filter((lane) => !here.includes(lane)),
      ].sort((one, other) => one - other);
      return { ...peer, link: { ...link, ...(silent.length > 0 && { silent }) } };
    });
  }

  /** The lane is no longer here. */
  forget(lane: number): void {
    for (const key of this.#lives.keys()) if (key.startsWith(`${lane} `)) this.#lives.delete(key);
  }

  #keepOnly(sites: ReadonlySet<string>): void {
    for (const key of this.#lives.keys()) if (!sites.has(key.slice(key.indexOf(" ") + 1))) this.#lives.delete(key);
  }

  #life(siteId: string, lane: number, state: NetworkState): LaneLife {
    const key = `${lane} ${siteId}`;
    const life = this.#lives.get(key) ?? new LaneLife(isShared(state));
    this.#lives.set(key, life);
    return life;
  }
}
