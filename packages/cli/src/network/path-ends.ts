import { EXPORTED_ANNOTATION } from "@fjord/api";
import { didYouMean } from "@fjord/base";
import { calledHere, meantThere, type PathEnd, siteOfAddress } from "@fjord/continuum/network-path";
import { EndpointSlice, type KubeClient, Pod, Service } from "@fjord/kube";
import { NoSuchThing, UnclearEnd } from "../errors.ts";
import { idOf, siteOfNode } from "../place/known-places.ts";
import type { EndText } from "./end-text.ts";
import { type LeftOut, leftOutOf } from "./left-out.ts";
import { namedObject } from "./named-object.ts";
import { isForOutside } from "./outside-clients.ts";
import type { SiteNetwork } from "./site-network.ts";

/** What is meant by an end: of a Service all that may answer for it. */
export interface PathEnds {
  readonly ends: readonly PathEnd[];
  /** What somebody asks for, where another one answers. */
  readonly service?: {
    readonly title: string;
    readonly address: string;
    /** Whether clients from outside come to it by ports of nodes. */
    readonly isForOutside: boolean;
    /** Endpoints that are not ready. */
    readonly leftOut: readonly LeftOut[];
  };
}

/** `from`: who would go there; a Service may lead guests elsewhere than pods at home. */
export async function pathEnds(
  network: SiteNetwork,
  text: EndText,
  namespace: string,
  signal: AbortSignal,
  from?: PathEnd,
): Promise<PathEnds> {
  const { client } = network;
  switch (text.kind) {
    case "Pod":
      return { ends: [podEnd(network, await namedObject(client, Pod, text, namespace, signal))] };
    case "Service":
      return await serviceEnds(network, await namedObject(client, Service, text, namespace, signal), signal, from);
    case "Address":
      return await addressEnds(network, text, signal, from);
  }
}

/** The pod that has an address at a site. */
export async function podOfAddress(client: KubeClient, address: string, signal: AbortSignal): Promise<Pod | undefined> {
  const { items } = await client.list(Pod, {
    fieldSelector: `status.podIP=${address}`,
    signal,
    omitManagedFields: true,
  });
  return items.find(({ spec, status }) => spec?.hostNetwork !== true && !isOver(status?.phase));
}

function isOver(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

function podEnd(network: SiteNetwork, pod: Pod): PathEnd {
  const { name = "", namespace = "" } = pod.metadata;
  const title = `pod ${namespace}/${name}`;
  const address = pod.status?.podIP;
  if (address === undefined || address === "" || isOver(pod.status?.phase))
    throw new UnclearEnd({
      end: title,
      reason: `it has no address: it is ${pod.status?.phase ?? "Unknown"}; \`fjord explain\` says why`,
    });
  const site = siteOfNode(network.places, pod.spec?.nodeName);
  return { title, site: site && idOf(site), address, pod };
}

async function serviceEnds(
  network: SiteNetwork,
  service: Service,
  signal: AbortSignal,
  from: PathEnd | undefined,
): Promise<PathEnds> {
  const { name = "", namespace = "" } = service.metadata;
  const { items: slices } = await network.client.list(EndpointSlice, {
    namespace,
    labelSelector: `kubernetes.io/service-name=${name}`,
    signal,
  });
  const isGuest = from?.site !== undefined && from.site !== network.id;
  const addresses = slices.flatMap((slice) => (isGuest && exportedAddress(slice)) || readyIn(slice));
  const { items: pods } = await network.client.list(Pod, { namespace, signal, omitManagedFields: true });
  const ends = [...new Set(addresses)].map((address): PathEnd => {
    const pod = pods.find(({ status }) => (status?.podIPs ?? [{ ip: status?.podIP }]).some(({ ip }) => ip === address));
    if (pod !== undefined) return { ...podEnd(network, pod), address };
    return { title: address, address, site: siteOfAddress(address, network) };
  });
  const address = service.spec?.clusterIP ?? "None";
  const leftOut = leftOutOf(slices, pods, network);
  const title = `Service ${namespace}/${name}`;
  return { ends, service: { title, address, isForOutside: isForOutside(service), leftOut } };
}

function readyIn({ endpoints }: EndpointSlice): readonly string[] {
  return (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false).flatMap((each) => each.addresses);
}

/** Where guests elsewhere are led of what this site exports to itself: to what stands for it on links. */
function exportedAddress(slice: EndpointSlice): readonly string[] | undefined {
  const text = slice.metadata.annotations?.[EXPORTED_ANNOTATION];
  return text === undefined ? undefined : [text.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1")];
}

async function addressEnds(
  network: SiteNetwork,
  { address, site }: Extract<EndText, { kind: "Address" }>,
  signal: AbortSignal,
  from: PathEnd | undefined,
): Promise<PathEnds> {
  const title = site === undefined ? address : `${address} of ${site}`;
  const there = site === undefined ? { called: address } : calledBy(network, address, site);
  // Without a plan it may be what something here is called too.
  if ("site" in there) return { ends: [{ title, address, site: there.site }] };
  const { called } = there;
  const { items: services } = await network.client.list(Service, { signal, omitManagedFields: true });
  const service = services.find(({ spec }) => (spec?.clusterIPs ?? [spec?.clusterIP]).includes(called));
  if (service !== undefined) return await serviceEnds(network, service, signal, from);
  const pod = await podOfAddress(network.client, called, signal);
  if (pod !== undefined) return { ends: [{ ...podEnd(network, pod), address: called }] };
  const owner = siteOfAddress(called, network);
  return { ends: [{ title: standsFor(network, called, owner) ?? title, address: called, site: owner }] };
}

/** Whose name an address is here, where it is another site's: an address that servers see as their client's says no more by itself. */
export function standsFor(
  { plans, nameOf }: Pick<SiteNetwork, "plans" | "nameOf">,
  address: string,
  site: string | undefined,
): string | undefined {
  const plan = plans.find(({ spec }) => spec.site === site);
  const meant = plan && meantThere(plan.spec, address);
  return meant === undefined || meant === address
    ? undefined
    : `${address}, which stands for ${meant} of ${nameOf(site) ?? site}`;
}

/** What an address that is another site's own is called here; the site's id where the two have no names for each other. */
function calledBy(
  network: SiteNetwork,
  address: string,
  name: string,
): { readonly called: string } | { readonly site: string } {
  const { sites } = network.places;
  const site = sites.find(({ metadata }) => metadata.name === name);
  const id = site && idOf(site);
  if (id === undefined) {
    const names = sites.map(({ metadata }) => metadata.name ?? "");
    throw new NoSuchThing({ what: "site", name, hint: didYouMean(name, names) });
  }
  if (id === network.id) return { called: address };
  const plan = network.plans.find(({ spec }) => spec.site === id);
  if (plan === undefined) return { site: id };
  const called = calledHere(plan.spec, address);
  if (called !== undefined) return { called };
  const reason = `it is in none of the ranges that ${name} has told: ${plan.spec.peer.map(({ range }) => range).join(", ")}`;
  throw new UnclearEnd({ end: `${address}@${name}`, reason });
}
