import type { NetworkState, PeerNetwork } from "../network-state.ts";

/** Those that this node carries. */
export function lanesOf({ parallel = 1, carried }: NetworkState): readonly number[] {
  return carried ?? Array.from({ length: parallel }, (_, lane) => lane);
}

/** Whether other nodes have some of them. */
export function isShared(state: NetworkState): boolean {
  return lanesOf(state).length < (state.parallel ?? 1);
}

/** How many there are to a peer. */
export function laneCountOf(link: PeerNetwork["link"], { parallel = 1 }: NetworkState): number {
  return 1 + (link.lanes?.length ?? parallel - 1);
}

/** Ids of peers to which there is more than one. */
export function lanedPeers({ parallel = 1, peers }: NetworkState): Set<string> {
  if (parallel < 2) return new Set();
  const laned = peers.filter(({ link }) => link.via === undefined && link.lanes?.length !== 0);
  return new Set(laned.map(({ siteId }) => siteId));
}
