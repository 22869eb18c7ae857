import { noticeViews } from "./notice-views.ts";
import type { Picture } from "./picture.ts";
import { podFacts } from "./pod-facts.ts";
import { podView } from "./pod-views.ts";
import type { NodeView, PodView, SiteView, Snapshot, ViewerView } from "./snapshot.ts";

/** What RBAC lets a viewer list. */
export interface Rights {
  readonly sites: boolean;
  readonly peerings: boolean;
  readonly contracts: boolean;
  readonly nodes: boolean;
  /** Pods and workloads of a namespace; of all of them for the empty name. */
  pods(namespace: string): boolean;
  events(namespace: string): boolean;
}

/** What a viewer looks at: all of it, one site, or one workload (`namespace/Kind/name`). */
export interface Focus {
  readonly site?: string;
  readonly workload?: string;
}

/** More pods than this of one workload are counted and not listed. */
const MOST_PODS = 500;
const MOST_NOTICES = 100;
const CONTINUUM_KINDS = new Set(["Site", "Peering", "Contract", "VirtualNode", "Offloading", "Node"]);

/** The part of the picture that a viewer may see, and looks at. */
export function snapshotFor(
  picture: Picture,
  viewer: Omit<ViewerView, "hidden">,
  rights: Rights,
  focus: Focus,
): Snapshot {
  const everywhere = rights.pods("");
  const workloads = everywhere
    ? picture.workloads
    : filtered(picture.workloads, ({ namespace }) => rights.pods(namespace));
  return {
    self: rights.sites ? picture.known.self : "",
    viewer: { ...viewer, hidden: hiddenBy(rights) },
    sites: rights.sites ? mapped(picture.sites, (site) => visibleSite(site, rights)) : {},
    links: filtered(picture.links, ({ peering }) => (peering === undefined ? rights.contracts : rights.peerings)),
    nodes: rights.nodes ? mapped(picture.nodes, (node) => visibleNode(node, everywhere)) : {},
    workloads,
    pods: focus.workload === undefined ? {} : visiblePods(picture, focus.workload, rights),
    notices: visibleNotices(picture, rights, focus),
  };
}

function visibleSite(site: SiteView, rights: Rights): SiteView {
  const contracts = rights.contracts ? {} : { contractedOut: {}, contractedIn: {} };
  const nodes = rights.nodes ? {} : { capacity: {}, nodes: 0, nodesReady: 0 };
  const pods = rights.pods("") ? {} : { used: {}, pods: 0 };
  return { ...site, ...contracts, ...nodes, ...pods };
}

function visibleNode(node: NodeView, everywhere: boolean): NodeView {
  return everywhere ? node : { ...node, used: {}, pods: 0 };
}

function visiblePods({ podsOf, world, known, links, sites }: Picture, workload: string, rights: Rights) {
  const views: Record<string, PodView> = {};
  for (const pod of (podsOf.get(workload) ?? []).slice(0, MOST_PODS)) {
    const facts = podFacts(pod);
    if (!rights.pods("") && !rights.pods(facts.namespace)) continue;
    const offloading = world.offloadings.find(({ metadata }) => metadata.namespace === facts.namespace);
    const link = Object.values(links).find(({ node }) => node !== undefined && node === facts.node);
    const site = sites[known.siteOfNode(facts.node)];
    views[`${facts.namespace}/${pod.metadata.name}`] = podView(pod, facts, { offloading, link, site, known });
  }
  return views;
}

function visibleNotices({ world, podsOf, links }: Picture, rights: Rights, focus: Focus) {
  const everywhere = rights.events("");
  const about = focusedNames(focus, podsOf, links);
  const wanted = world.events.filter(({ metadata, involvedObject: { kind = "", name = "", namespace = "" } }) => {
    if (!everywhere && !rights.events(metadata.namespace ?? "")) return false;
    if (about !== undefined) return about.has(`${kind}/${namespace}/${name}`);
    return CONTINUUM_KINDS.has(kind);
  });
  return noticeViews(wanted, MOST_NOTICES);
}

/** The objects whose events belong to what is looked at; undefined for all of the continuum's. */
function focusedNames(
  { site, workload }: Focus,
  podsOf: Picture["podsOf"],
  links: Picture["links"],
): ReadonlySet<string> | undefined {
  if (workload !== undefined) {
    const [namespace = "", kind = "", name = ""] = workload.split("/");
    const pods = (podsOf.get(workload) ?? []).map(({ metadata }) => `Pod/${namespace}/${metadata.name}`);
    return new Set([`${kind}/${namespace}/${name}`, ...pods]);
  }
  if (site === undefined) return undefined;
  const names = new Set([`Site//${site}`]);
  for (const link of Object.values(links)) {
    if (link.consumer !== site && link.provider !== site) continue;
    if (link.peering !== undefined) names.add(`Peering//${link.peering}`);
    if (link.contract !== undefined) names.add(`Contract//${link.contract}`);
    if (link.node !== undefined) names.add(`VirtualNode//${link.node}`).add(`Node//${link.node}`);
  }
  return names;
}

function hiddenBy(rights: Rights): string[] {
  const hidden = [
    !rights.sites && "sites",
    !rights.peerings && "peerings",
    !rights.contracts && "contracts",
    !rights.nodes && "nodes",
    !rights.pods("") && "pods of some namespaces",
  ];
  return hidden.filter((part) => part !== false);
}

function filtered<T>(all: Readonly<Record<string, T>>, keep: (value: T) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => keep(value)));
}

function mapped<T>(all: Readonly<Record<string, T>>, change: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [key, change(value)]));
}
