import type { AddressPlan, Link } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { contains, parseRange } from "../ip-range.ts";
import { EXPORT_RANGES } from "../link-address.ts";
import { parseAddress } from "../ranges.ts";
import { meantThere } from "../translate.ts";
import type { Hop, PathEnd, SiteView } from "./path.ts";

/** One side of a link as the packet meets it. */
export interface Side {
  readonly site: string;
  readonly view?: SiteView;
  /** Its Link towards the other side. */
  readonly link?: Link;
  readonly end: PathEnd;
  /** What its own API has of the pod. */
  readonly pod?: PathEnd["pod"];
  /** What its own API has of the other end. */
  readonly other?: PathEnd["pod"];
  /** The end's own address. */
  readonly real: string;
  /** What the other end is called here. */
  readonly otherCalled: string;
}

/** How what only the other site's API knows is asked for too. */
export const PEER_CONTEXT = "name its context by --peer-context";

/** A hop without what stands in the packet then. */
export type BareHop = Omit<Hop, "source" | "destination">;

/** Whether the gateway of a side lets the two talk: by its own list, in both directions the same. */
export function permission(side: Side, other: Side): BareHop {
  const { site, view, link, real, otherCalled } = side;
  const hop = { site, at: "gateway" } as const;
  if (view === undefined)
    return {
      ...hop,
      what: `its own list decides, which only the API of ${site} knows: ${PEER_CONTEXT}`,
      verdict: "Unknown",
    };
  if (link === undefined)
    return { ...hop, what: `there is no Link with ${other.site}, so nothing goes there`, verdict: "Dropped" };
  const rule = `Link ${link.metadata.name}`;
  const fault = view.faults.get(link.spec.site);
  if (fault !== undefined) return { ...hop, what: `the peer is left out: ${fault}`, rule, verdict: "Dropped" };
  const has = (texts: readonly string[], address: string) => texts.some((text) => inRange(text, address));
  const locals = link.spec.groups.filter((group) => has(group.local, real));
  const remotes = link.spec.groups.filter((group) => has(group.remote, otherCalled));
  const group = locals.find((each) => remotes.includes(each));
  if (group !== undefined)
    return {
      ...hop,
      what: `${real} and ${otherCalled} are in one group`,
      rule: `${rule}, group ${group.name}`,
      verdict: "Passes",
    };
  const listed = (groups: readonly { name: string }[]) => groups.map(({ name }) => name).join(", ");
  const what =
    locals.length === 0
      ? `${real}, of ${side.end.title}, is in no group: it may talk with nobody over this link`
      : remotes.length === 0
        ? `${otherCalled}, of ${other.end.title}, is in no group: nobody may talk with it over this link`
        : `${real} is in group ${listed(locals)}, and ${otherCalled} in ${listed(remotes)}: never both in one`;
  return { ...hop, what, rule, verdict: "Dropped" };
}

/** What would have the two in one group: what offloading a namespace does, which is for its own pods alone. */
export function adviceFor(side: Side, other: Side): string[] {
  const { view, link, site, end, real, otherCalled } = side;
  if (view === undefined || link === undefined) return ["`fjord network status` shows links and what they wait for"];
  const isExport = [real, otherCalled].some((address) => isExported(view.plans, link.spec.site, address));
  if (isExport)
    return [
      "what is exported needs an Export at the site that has it, which names the other, and an Import in the pod's namespace",
    ];
  const nobody = [side, other].find((each) => each.view !== undefined && !each.pod && !each.end.pod);
  if (nobody !== undefined)
    return [
      `no pod of ${nobody.site} has ${nobody.real}: \`kubectl get pods -A -o wide\` there shows which addresses pods have`,
    ];
  const [namespace, otherNamespace] = [end.pod?.metadata.namespace, other.end.pod?.metadata.namespace];
  if (namespace === undefined || otherNamespace === undefined) {
    const [known, foreign] = namespace === undefined ? [other, side] : [side, other];
    return [
      `no pod of a namespace that the two share is known as ${foreign.end.address}: pods meet within their namespace, and what ${foreign.site} has besides is reached by an Export there that names ${known.site}, and an Import in the pod's namespace`,
    ];
  }
  if (namespace !== otherNamespace)
    return [
      `namespaces ${namespace} and ${otherNamespace} are never in one group, offloaded or not: have both pods in one namespace, or let an Export have the Service of the one that is asked, and an Import in the other's namespace`,
    ];
  return [
    `offload namespace ${namespace} (\`fjord offload\`), so that its pods at both sites are in one group of ${site}`,
  ];
}

/** Whether an address, as it is called at a site, stands for an export of either. */
export function isExported(plans: readonly AddressPlan[], peer: string, address: string): boolean {
  const plan = plans.find(({ spec }) => spec.site === peer)?.spec;
  const real = parseAddress((plan && meantThere(plan, address)) ?? address);
  return real !== undefined && contains(EXPORT_RANGES[real.family], real);
}

/** Undefined where the address stays what it is. */
export function renamed(
  site: string,
  field: "source" | "destination",
  before: string,
  after: string,
  namings: AddressPlan["spec"]["own"],
): BareHop | undefined {
  if (before === after) return undefined;
  const naming = namings.find(({ range, called = "" }) =>
    field === "source" ? inRange(range, before) || inRange(called, after) : inRange(called, before),
  );
  return {
    site,
    at: "gateway",
    what: `${field} ${before} becomes ${after}`,
    ...(naming && { rule: `AddressPlan: ${naming.range} is called ${naming.called}` }),
    verdict: "Passes",
  };
}

/** `view`: of the site whose Link it is. */
export function linkHop(link: Link | undefined, view?: Pick<SiteView, "nameOf">): BareHop {
  const ready = getCondition(link?.status?.conditions, "Ready");
  const { endpoint, carrier } = link?.status ?? {};
  const via = link?.spec.via ?? link?.status?.via;
  const where = endpoint === undefined ? "" : `, peer at ${endpoint}`;
  // What stands for a peer behind a hub is no address of anybody.
  const through =
    via === undefined ? where : `, through the gateway of ${view?.nameOf(via) ?? via}, which cannot read it`;
  const place = link?.status?.way === "TCP" ? ", in the agents' own connection, as UDP does not pass" : through;
  const by = `WireGuard${carrier === undefined ? "" : ` (${carrier})`}${place}${laneText(link)}`;
  const rule = link && `Link ${link.metadata.name}`;
  const hop = { at: "link", ...(rule !== undefined && { rule }) } as const;
  if (ready === undefined)
    return { ...hop, what: `${by}: no gateway has said how it is; does one run?`, verdict: "Unknown" };
  if (ready.status === "True") return { ...hop, what: by, verdict: "Passes" };
  const why = [ready.reason, ready.message].filter((text) => text).join(": ");
  return { ...hop, what: `${by}: it is down (${why})`, verdict: "Dropped" };
}

/** Who carries it here, where that depends on the ports of a connection; those that the peer does not answer on are left out. */
function laneText(link: Link | undefined): string {
  const count = 1 + (link?.spec.lanes?.length ?? 0);
  const lanes = (link?.status?.lanes ?? [])
    .filter(({ lane, silent, node }) => lane < count && !silent && node !== undefined)
    .sort((one, other) => one.lane - other.lane);
  if (lanes.length < 2) return "";
  return `, by its ports on lane ${lanes.map(({ lane, node }) => `${lane} (node ${node})`).join(" or ")}`;
}

/** Whether an address is `text`, or in the range that that is. */
export function inRange(text: string, address: string): boolean {
  const [range, found] = [parseRange(text), parseRange(address)];
  return range !== undefined && found !== undefined && contains(range, found);
}
