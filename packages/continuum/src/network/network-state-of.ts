import type { AddressPlan, Export, Link, Site } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import type { NetworkFacts } from "../protocol.ts";
import { isUsable } from "./address-plan.ts";
import { familyOf } from "./fabric/route-change.ts";
import { parseRange } from "./ip-range.ts";
import type { ExportedAddress, LinkFallback, Naming, NetworkState, PeerNetwork } from "./network-state.ts";
import { laneCount } from "./own-network.ts";
import { isPlace } from "./place.ts";

/** What the gateway is to bring about, from the objects that say so: no links where the owner wants none. */
export function networkState(
  site: Site,
  plans: readonly AddressPlan[],
  links: readonly Link[],
  sites: readonly Site[] = [],
  exports: readonly Export[] = [],
): NetworkState {
  const { network } = site.spec;
  if (network === undefined) return { listenPort: 51820, mtu: 1380, ranges: [], peers: [] };
  const lanes = laneCount(site);
  const relays = relaysOf(network.relays ?? [], sites);
  const planned = new Map(plans.map(({ spec }) => [spec.site, spec]));
  const peers = links.flatMap((link) => {
    const { spec, metadata } = link;
    if (metadata.deletionTimestamp !== undefined) return [];
    const plan = planned.get(spec.site);
    if (plan === undefined || !isUsable(plan)) return [];
    return [knownPeer(plan, link, relays.get(spec.site) ?? [], lanes > 1)];
  });
  const siteId = site.status?.id ?? site.spec.id;
  const exported = exportedAddresses(exports);
  const machines = [...new Set(links.flatMap(({ spec }) => spec.machines ?? []))].sort();
  return {
    ...(siteId !== undefined && { siteId }),
    listenPort: network.port,
    mtu: network.mtu,
    ...(lanes > 1 && { parallel: lanes }),
    // What is none is the fault of that peer's plan, and of no other link.
    ranges: [...new Set(peers.flatMap(({ own }) => own.map(({ range }) => range)))].filter(isRange).sort(),
    peers: peers.sort((one, other) => (one.siteId < other.siteId ? -1 : 1)),
    ...(exported.length > 0 && { exports: exported }),
    ...(machines.length > 0 && { machines }),
  };
}

/** Each leads only to what is of its own family. */
function exportedAddresses(exports: readonly Export[]): ExportedAddress[] {
  const entries = exports
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .flatMap(({ status }) => status?.entries ?? []);
  return entries
    .flatMap(({ addresses, ports, masquerade = false }) =>
      addresses.map((address) => ({
        address,
        masquerade,
        ports: ports.map(({ protocol, port, backends }) => ({
          protocol,
          port,
          backends: backends.filter((backend) => familyOf(backend.address) === familyOf(address)),
        })),
      })),
    )
    .sort((one, other) => (one.address < other.address ? -1 : 1));
}

type Relays = NonNullable<NonNullable<Site["spec"]["network"]>["relays"]>;

/** Of sites that have links here, those that one may reach through here. */
export function leadsTo(
  own: Site | undefined,
  site: string,
  sites: readonly Site[],
  linked: readonly string[],
  /** Whom this site introduces to it. */
  introduced: readonly string[] = [],
): string[] {
  const others = relaysOf(own?.spec.network?.relays ?? [], sites).get(site) ?? [];
  return [...new Set([...others, ...introduced])].filter((each) => linked.includes(each)).sort();
}

/** Where the gateway hears of those that it leads a site to: the two may meet by that. */
export function sightsOf(sites: readonly string[], links: readonly Link[]): NonNullable<NetworkFacts["sights"]> {
  return links.flatMap(({ spec, status }) => {
    const isMet = status?.way === "Direct" && getCondition(status.conditions, "Ready")?.status === "True";
    const { endpoint } = status ?? {};
    return sites.includes(spec.site) && isMet && endpoint !== undefined && isPlace(endpoint)
      ? [{ site: spec.site, endpoint }]
      : [];
  });
}

/** By id, the sites that each may reach through here, of those that are known by these names. */
export function relaysOf(relays: Relays, sites: readonly Site[]): Map<string, string[]> {
  const idOf = (name: string | undefined) => {
    const found = sites.find(({ metadata }) => metadata.name === name);
    return found?.status?.id ?? found?.spec.id;
  };
  const found = new Map<string, Set<string>>();
  const add = (from: string, to: string) => found.set(from, (found.get(from) ?? new Set()).add(to));
  for (const { between } of relays) {
    const [one, other] = between.map(idOf);
    if (one === undefined || other === undefined || one === other) continue;
    add(one, other);
    add(other, one);
  }
  return new Map([...found].map(([site, others]) => [site, [...others].sort()]));
}

/** What the last peer of a Link was made of, and what that was. */
const made = new WeakMap<
  Link,
  { readonly plan: AddressPlan["spec"]; readonly around: string; readonly peer: PeerNetwork }
>();

/** The same object as before where it is made of the same: whoever compares peers need not read it. */
function knownPeer(plan: AddressPlan["spec"], link: Link, named: readonly string[], hasLanes: boolean): PeerNetwork {
  const around = `${hasLanes} ${named.join()}`;
  const known = made.get(link);
  if (known?.plan === plan && known.around === around) return known.peer;
  const peer = peerNetwork(plan, link, named, hasLanes);
  made.set(link, { plan, around, peer });
  return peer;
}

function peerNetwork(
  plan: AddressPlan["spec"],
  { spec: link, status }: Pick<Link, "spec" | "status">,
  named: readonly string[],
  hasLanes: boolean,
): PeerNetwork {
  const { publicKey, nextKey, endpoints, lanes = [], via, fallback, tcp, keepaliveSeconds, groups, guests } = link;
  const silent = (status?.lanes ?? []).filter((each) => each.silent).map(({ lane }) => lane);
  const relayTo = [...new Set([...named, ...(link.relayTo ?? [])])].sort();
  const own = plan.own.flatMap(withName);
  // Nobody here could use the others, and a node whose IPv6 is switched off has no room for them.
  const isUsed = (each: string) => own.some(({ range }) => familyOf(range) === familyOf(each));
  return {
    siteId: link.site,
    own,
    peer: plan.peer.flatMap(withName).filter(({ called }) => isUsed(called)),
    link: {
      publicKey,
      ...(nextKey !== undefined && { nextKey }),
      endpoints,
      ...(hasLanes && { lanes: lanes.map((each) => each.endpoints) }),
      ...(silent.length > 0 && { silent }),
      ...(via !== undefined && { via }),
      ...(fallback && { fallback: fallbackOf(fallback) }),
      ...(tcp && { tcp: tcp.endpoint }),
      ...(keepaliveSeconds !== undefined && { keepaliveSeconds }),
    },
    groups: groups.map((group) =>
      group.remote.every(isUsed) ? group : { ...group, remote: group.remote.filter(isUsed) },
    ),
    ...(guests && { guests: { addresses: guests.addresses, names: guests.names.flatMap(withName) } }),
    ...(status?.mtu !== undefined && { mtu: status.mtu }),
    ...(relayTo.length > 0 && { relayTo }),
    ...(plan.scope === "Guests" && { introduced: true }),
  };
}

function fallbackOf({ site, endpoint, seenAt }: NonNullable<Link["spec"]["fallback"]>): LinkFallback {
  return { via: site, endpoint, ...(seenAt !== undefined && { seenAt }) };
}

function isRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

function withName({ range, called }: AddressPlan["spec"]["own"][number]): Naming[] {
  return called === undefined ? [] : [{ range, called }];
}
