import { AddressPlan, Link, Site } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import type { Command } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";
import { type ListFlags, type Listing, listOptions, showLists } from "../command-line/show-lists.ts";
import { addCapture } from "../network/capture/capture-command.ts";
import { addNetworkExplain } from "../network/explain.ts";
import { withoutNetwork } from "../network/link-waits.ts";
import { plansWith } from "../network/plans-with.ts";
import { addRotateKey } from "../network/rotate-key.ts";
import { addNetworkTest } from "../network/trials/trials-command.ts";
import { age, cell, table } from "../output/table.ts";
import { idOf, siteById } from "../place/known-places.ts";

type Lists = [Site[], AddressPlan[], Link[]];

/** In the order of the sites' names; of some alone, where these are named. */
export function networkListing(names: readonly string[]): Listing<Lists> {
  return {
    kinds: [Site, AddressPlan, Link],
    chosen: ([sites, all, links]) => {
      const plans = plansWith(names, all, (id) => siteName(id, sites));
      const ids = plans.map(({ spec }) => spec.site);
      return [sites, plans, names.length === 0 ? links : links.filter(({ spec }) => ids.includes(spec.site))];
    },
    named: ([sites, plans, links]) => {
      const peers = sites.filter((site) => plans.some(({ spec }) => spec.site === idOf(site)));
      return [...peers, ...plans, ...links];
    },
    value: ([, addressPlans, links]) => ({ addressPlans, links }),
    table: networkTable,
  };
}

export function addNetwork(program: Command, context: CommandContext): void {
  const network = program.command("network").description("how pods of this site and of its peers reach each other");
  const status = network
    .command("status")
    .description("show what this site and its peers call each other's addresses, and the links between them")
    .argument("[sites...]", "of these peers alone");
  listOptions(status).action((sites: readonly string[], flags: ListFlags) =>
    showLists(networkListing(sites), flags, context),
  );
  addNetworkExplain(network, context);
  addNetworkTest(network, context);
  addCapture(network, context);
  addRotateKey(network, context);
}

/** How the peer is met, once it was. */
function path(link: Link | undefined, sites: Lists[0]): string {
  const via = link?.spec.via ?? link?.status?.via;
  if (via !== undefined) return `via ${siteName(via, sites)}`;
  if (link?.status?.way === "TCP") return "over TCP";
  return link?.status?.handshakeAt === undefined ? "<unknown>" : "direct";
}

/** Where the peer is heard of; what stands there for one that is not met is of no use to anybody. */
function endpoint(link: Link | undefined, sites: Lists[0]): string {
  const isMet = (link?.spec.via ?? link?.status?.via) === undefined && link?.status?.way !== "TCP";
  return isMet ? cell(link?.status?.endpoint) : path(link, sites);
}

/** A line for each range of a peer; what is of the link stands in the first. */
export function networkTable([sites, plans, links]: Lists, wide: boolean, now: number): string {
  if (plans.length === 0)
    return `there are no links: ${withoutNetwork(sites) ?? "`fjord peer SITE --link` asks for one, where both sites have spec.network in their Site; where one was asked for, the agent's log says what is in its way"}\n`;
  const rows = plans.flatMap(({ spec, status }) => {
    const plan = getCondition(status?.conditions, "Ready");
    const link = links.find((each) => each.spec.site === spec.site);
    const ready = getCondition(link?.status?.conditions, "Ready");
    const lines = Math.max(spec.own.length, spec.peer.length, 1);
    return Array.from({ length: lines }, (_, index) => {
      const isFirst = index === 0;
      const once = (text: string) => (isFirst ? text : "");
      // Where the agents carry there is no link: what they carry is in their metrics.
      const ofLink = (text: string) => once(spec.carrier === "Proxy" ? "-" : text);
      return [
        once(siteName(spec.site, sites)),
        naming(spec.peer[index]),
        naming(spec.own[index]),
        once(plan?.reason ?? "Unknown"),
        once(spec.carrier === "Proxy" ? carried(spec.site, sites) : linkReason(link, ready?.reason)),
        ofLink(age(link?.status?.handshakeAt, now)),
        ofLink(latency(link?.status?.latencyMicroseconds)),
        ofLink(percent(link?.status?.lossPercent)),
        ofLink(rate(link?.status?.receivedPerSecond)),
        ofLink(rate(link?.status?.sentPerSecond)),
        ofLink(cell(link?.status?.mtu)),
        ofLink(path(link, sites)),
        once(String((link?.spec.groups ?? []).length)),
        ...(wide
          ? [
              ofLink(endpoint(link, sites)),
              ofLink(lanes(link)),
              once(cell(spec.carrier ?? link?.status?.carrier)),
              ofLink(amount(link?.status?.receivedBytes ?? 0)),
              ofLink(amount(link?.status?.sentBytes ?? 0)),
            ]
          : []),
        once([introduced(spec, sites), plan?.message, ready?.message].filter((text) => text).join("; ")),
      ];
    });
  });
  const more = wide ? ["ENDPOINT", "LANES", "CARRIER", "RECEIVED", "SENT"] : [];
  const headers = [
    "SITE",
    "THEIRS",
    "OURS THERE",
    "PLAN",
    "LINK",
    "HANDSHAKE",
    "LATENCY",
    "LOSS",
    "IN",
    "OUT",
    "MTU",
    "PATH",
    "GROUPS",
    ...more,
    "MESSAGE",
  ];
  return table(headers, rows);
}

/** Whose guests a link is for, where the two sites have none of their own. */
function introduced({ scope, introducedBy = [] }: AddressPlan["spec"], sites: readonly Site[]): string {
  return scope === "Guests" ? `introduced by ${introducedBy.map((id) => siteName(id, sites)).join(", ")}` : "";
}

function linkReason(link: Link | undefined, reason: string | undefined): string {
  return link === undefined ? "<none>" : (reason ?? "Unknown");
}

/** `2/2`: those on which the peer answers, of those that there are; and by which nodes, lane by lane, where several may carry them. */
function lanes(link: Link | undefined): string {
  const count = 1 + (link?.spec.lanes?.length ?? 0);
  if (count === 1) return "1";
  const there = (link?.status?.lanes ?? []).filter((each) => each.lane < count);
  const answering = `${count - there.filter((each) => each.silent).length}/${count}`;
  const nodes = Array.from({ length: count }, (_, lane) => there.find((each) => each.lane === lane)?.node);
  return nodes.every((node) => node === undefined)
    ? answering
    : `${answering} on ${nodes.map((node) => node ?? "?").join(",")}`;
}

/** The agents carry connections while the peer answers. */
function carried(id: string, sites: readonly Site[]): string {
  const site = siteById({ sites }, id);
  const ready = getCondition(site?.status?.conditions, "Ready");
  return ready?.status === "True" ? "Proxied" : (ready?.reason ?? "Unknown");
}

/** `10.42.0.0/16 as 240.0.0.0/16`, or the range alone where it is called what it is. */
function naming(named: AddressPlan["spec"]["own"][number] | undefined): string {
  if (named === undefined) return "";
  const { range, called = "?" } = named;
  return range === called ? range : `${range} as ${called}`;
}

/** `12.3ms`; nothing is known until the peer's gateway has answered. */
function latency(microseconds: number | undefined): string {
  return microseconds === undefined ? "<unknown>" : `${(microseconds / 1000).toFixed(1)}ms`;
}

/** `1.4MiB/s`; nothing is known until the gateway has looked twice. */
function rate(perSecond: number | undefined): string {
  return perSecond === undefined ? "<unknown>" : `${amount(perSecond)}/s`;
}

function percent(value: number | undefined): string {
  return value === undefined ? "<unknown>" : `${value}%`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `1.4MiB`. */
function amount(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)}${UNITS[power]}`;
}

function siteName(id: string, sites: readonly Site[]): string {
  return siteById({ sites }, id)?.metadata.name ?? id;
}
