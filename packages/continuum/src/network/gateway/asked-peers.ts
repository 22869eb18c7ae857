import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { lanedPeers } from "./carried-lanes.ts";
import type { LinkReport } from "./link-report.ts";

/** Where links have several lanes, so that a silent one is found out in time. */
export const LANES_TICK_MS = 500;

/** Whom a probe of one lane asks. */
export interface AskedPeers {
  readonly peers: readonly string[];
  readonly often: ReadonlySet<string>;
  /** How often those are asked. @default as the probe does */
  readonly oftenMs?: number;
}

/** `isTurning`: the own key is about to change, and everybody is to be heard soon. */
export function askedPeers(
  lane: number,
  reports: readonly LinkReport[],
  state: NetworkState,
  isTurning: boolean,
): AskedPeers {
  const linked = reports.filter(({ fault }) => fault === undefined);
  const soon = soonAsked(state, isTurning);
  return {
    peers: linked.filter((each) => lane === 0 || hasLane(each, lane)).map(({ siteId }) => siteId),
    often: lane === 0 ? oftenAsked(state, isTurning) : soon,
    ...(soon.size > 0 && { oftenMs: LANES_TICK_MS }),
  };
}

/** Whose silence is to be known within seconds. */
export function oftenAsked(state: NetworkState, isTurning: boolean): Set<string> {
  return new Set([...noticed(state.peers), ...soonAsked(state, isTurning)]);
}

/** Whose link has a lane here. */
export function hasLane({ lanes = [] }: LinkReport, lane: number): boolean {
  return lanes.some((each) => each.lane === lane);
}

function soonAsked(state: NetworkState, isTurning: boolean): Set<string> {
  return isTurning ? new Set(state.peers.map(({ siteId }) => siteId)) : lanedPeers(state);
}

/** Whose silence somebody would notice: who shares something with this site, or is a hub or behind one. */
function noticed(peers: readonly PeerNetwork[]): string[] {
  const hubs = new Set(peers.flatMap(({ link }) => link.via ?? link.fallback?.via ?? []));
  const isUsed = ({ siteId, groups, relayTo = [] }: PeerNetwork) =>
    hubs.has(siteId) || relayTo.length > 0 || groups.some(({ local, remote }) => local.length > 0 && remote.length > 0);
  return peers.filter(isUsed).map(({ siteId }) => siteId);
}
