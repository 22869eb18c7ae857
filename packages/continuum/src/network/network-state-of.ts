import type { AddressPlan, Link, Site } from "@fjord/api";
import { planReason } from "./address-plan.ts";
import type { Naming, NetworkState, PeerNetwork } from "./network-state.ts";

/** What the gateway is to bring about, from the objects that say so: no links where the owner wants none. */
export function networkState(site: Site, plans: readonly AddressPlan[], links: readonly Link[]): NetworkState {
  const { network } = site.spec;
  if (network === undefined) return { listenPort: 51820, mtu: 1380, ranges: [], peers: [] };
  const peers = links.flatMap(({ spec, metadata }) => {
    if (metadata.deletionTimestamp !== undefined) return [];
    const plan = plans.find((each) => each.spec.site === spec.site)?.spec;
    return plan === undefined || planReason(plan) !== "NamesKnown" ? [] : [peerNetwork(plan, spec)];
  });
  const siteId = site.status?.id ?? site.spec.id;
  return {
    ...(siteId !== undefined && { siteId }),
    listenPort: network.port,
    mtu: network.mtu,
    ranges: [...new Set(peers.flatMap(({ own }) => own.map(({ range }) => range)))].sort(),
    peers: peers.sort((one, other) => (one.siteId < other.siteId ? -1 : 1)),
  };
}

function peerNetwork(plan: AddressPlan["spec"], link: Link["spec"]): PeerNetwork {
  const { publicKey, endpoints, keepaliveSeconds, groups } = link;
  return {
    siteId: link.site,
    own: plan.own.flatMap(named),
    peer: plan.peer.flatMap(named),
    link: { publicKey, endpoints, ...(keepaliveSeconds !== undefined && { keepaliveSeconds }) },
    groups,
  };
}

function named({ range, called }: AddressPlan["spec"]["own"][number]): Naming[] {
  return called === undefined ? [] : [{ range, called }];
}
