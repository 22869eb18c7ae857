import { type AddressPlan, Offloading } from "@fjord/api";
import { meantThere } from "@fjord/continuum/network-path";
import {
  EndpointSlice,
  isForbidden,
  isNotFound,
  type KubeClient,
  Namespace,
  NetworkPolicy,
  Pod,
  Service,
} from "@fjord/kube";
import { ownSiteIn } from "../../place/known-places.ts";
import type { OwnPods } from "../own-pods/own-pods.ts";
import { TEST_NAMESPACE } from "../own-pods/trial-objects.ts";
import type { SiteNetwork } from "../site-network.ts";
import { runOwnTrials, withSeenByPods } from "./own-trials.ts";
import { type RunInPod, runTrials } from "./run-trials.ts";
import {
  type Asker,
  type Chances,
  chancesBetween,
  chancesOf,
  linkOutcomes,
  type NamespaceFacts,
  proxyOutcomes,
  type TrialRow,
} from "./trials.ts";

export interface RowMeans {
  readonly client: KubeClient;
  readonly network: SiteNetwork;
  /** Sites whose APIs may be asked too. */
  readonly others: readonly SiteNetwork[];
  /** A pod of this site that may not use links. */
  readonly outsider?: Asker;
  /** Those that were brought for the test: then no others are asked. */
  readonly pods?: OwnPods;
  readonly run: RunInPod;
  readonly signal: AbortSignal;
}

/** Every pair, in both directions: this site with each peer, and guests at two peers that this site has introduced to each other. Rejects when `signal` aborts. */
export async function trialRows(plans: readonly AddressPlan[], means: RowMeans): Promise<TrialRow[]> {
  const pairs = plans.flatMap((one) => plans.filter((other) => other !== one).map((other) => [one, other] as const));
  const rows = [
    ...(await Promise.all(plans.map((plan) => bothDirections(plan, means)))),
    ...(await Promise.all(pairs.map(([one, other]) => betweenProviders(one, other, means)))),
  ];
  // A command that could not be run since nobody waits for it any more is no outcome.
  means.signal.throwIfAborted();
  return rows.flat();
}

type Seen = Pick<TrialRow["outcomes"], "link" | "latency" | "mtu">;

/** One direction, and what is known of it before anybody asks. */
interface Direction {
  readonly from: string;
  readonly to: string;
  readonly seen: Seen;
  readonly chances: readonly Chances[];
  readonly held: boolean;
}

async function bothDirections(plan: AddressPlan, means: RowMeans): Promise<readonly TrialRow[]> {
  const { network, others, pods } = means;
  const peer = plan.spec.site;
  const held = isProxied(plan);
  const link = network.links.find(({ spec }) => spec.site === peer);
  const namespaces = await factsOf(await sharedWith(plan, means), means);
  const lack = pods?.lackAt(network.id) ?? pods?.lackAt(peer);
  const chances = lack === undefined ? chancesOf(network.id, plan, namespaces) : { out: [{ lack }], back: [{ lack }] };
  const mtu = ownSiteIn(network.places)?.spec.network?.mtu ?? 0;
  const seen = held ? proxyOutcomes(network.reachable?.(peer)) : linkOutcomes(link, mtu);
  const other = others.find(({ id }) => id === peer);
  // A round trip goes both ways, whoever begins it.
  const unseenThere = { ...unseen(held), ...(pods && { latency: seen.latency }) };
  const seenThere = other === undefined ? unseenThere : theirs(other, network.id, held);
  return await Promise.all([
    row({ from: network.id, to: peer, seen, chances: chances.out, held }, namespaces, means),
    row({ from: peer, to: network.id, seen: seenThere, chances: chances.back, held }, namespaces, means),
  ]);
}

/** One direction between guests at two peers; nothing where these do not meet. What their gateways see is asked of the one that may be. */
async function betweenProviders(one: AddressPlan, other: AddressPlan, means: RowMeans): Promise<readonly TrialRow[]> {
  const { network, others, pods } = means;
  const [from, to] = [one.spec.site, other.spec.site];
  const held = isProxied(one);
  const all = await Promise.all([one, other].map((plan) => sharedWith(plan, means)));
  const shared = (all[0] ?? []).filter((name) => all[1]?.includes(name));
  const namespaces = await factsOf(shared, means);
  const lack = pods?.lackAt(from) ?? pods?.lackAt(to);
  const found = lack === undefined ? chancesBetween(one, other, namespaces) : [{ lack }];
  if (found === undefined && pods === undefined) return [];
  const chances = found ?? [{ lack: `${network.name} has not introduced them to each other` }];
  const asked = others.find(({ id }) => id === from);
  const seen = held
    ? proxyOutcomes(network.reachable?.(from) && network.reachable?.(to))
    : asked === undefined
      ? unseen(held)
      : theirs(asked, to, held);
  return [await row({ from, to, seen, chances, held }, namespaces, means)];
}

async function row(
  { from, to, seen, chances, held }: Direction,
  namespaces: readonly NamespaceFacts[],
  means: RowMeans,
): Promise<TrialRow> {
  const { client, network, outsider, pods, run, signal } = means;
  const names = { from: nameOf(network, from), to: nameOf(network, to) };
  const ready = await Promise.all(chances.map((each) => withPort(client, each, signal)));
  if (pods !== undefined) {
    const own = pods.outsiderAt(from);
    const neighbour = neighbourAt(to, namespaces, means);
    const options = { run, held, to: names.to, ...(own && { outsider: own }), ...(neighbour && { neighbour }) };
    const { bulk, ...tried } = await runOwnTrials(ready[0] ?? {}, options);
    const both = held
      ? { ...seen, link: withSeenByPods(seen, { ...tried, bulk }).link }
      : withSeenByPods(seen, { ...tried, bulk });
    return { ...names, outcomes: { ...both, ...tried } };
  }
  const isHome = from === network.id;
  const noOutsider = `only pods of ${network.name} can be told to ask as outsiders: --deploy brings some to peers`;
  const tried = await runTrials(ready, {
    run,
    held,
    ...(isHome && outsider && { outsider }),
    ...(!isHome && { noOutsider }),
  });
  return { ...names, outcomes: { ...seen, ...tried } };
}

/** Somebody at a site that is no friend of the pod that is asked there, and what that one is called there. */
function neighbourAt(site: string, namespaces: readonly NamespaceFacts[], { network, pods }: RowMeans) {
  const [asker, asked] = [pods?.outsiderAt(site), pods?.at(site)];
  const address = namespaces.flatMap((each) => each.pods).find(({ metadata }) => metadata.name === asked?.pod)
    ?.status?.podIP;
  if (asker === undefined || address === undefined) return undefined;
  const plan = network.plans.find(({ spec }) => spec.site === site);
  return { asker, address: (plan && meantThere(plan.spec, address)) ?? address };
}

/** Namespaces that a peer has pods of. */
async function sharedWith(plan: AddressPlan, { client, network, pods, signal }: RowMeans): Promise<string[]> {
  if (pods !== undefined) return [TEST_NAMESPACE];
  if (isProxied(plan)) return await offloadedNamespaces(client, signal);
  const link = network.links.find(({ spec }) => spec.site === plan.spec.site);
  return [...new Set((link?.spec.groups ?? []).map((group) => group.name).filter((name) => !name.includes("/")))];
}

function isProxied({ spec }: AddressPlan): boolean {
  return spec.carrier === "Proxy";
}

async function offloadedNamespaces(client: KubeClient, signal: AbortSignal): Promise<string[]> {
  const { items } = await client.list(Offloading, { signal, omitManagedFields: true });
  return items.map(({ metadata }) => metadata.namespace ?? "");
}

function theirs(other: SiteNetwork, own: string, proxied: boolean): Seen {
  if (proxied) return proxyOutcomes(other.reachable?.(own));
  const mtu = ownSiteIn(other.places)?.spec.network?.mtu ?? 0;
  return linkOutcomes(
    other.links.find(({ spec }) => spec.site === own),
    mtu,
  );
}

function unseen(proxied: boolean): Seen {
  const outcome = {
    result: "NotTested",
    detail: "only the API of the first of the two knows: --peer-context",
  } as const;
  return proxied ? { ...proxyOutcomes(undefined), link: outcome } : { link: outcome, latency: outcome, mtu: outcome };
}

function factsOf(names: readonly string[], { client, pods, signal }: RowMeans): Promise<NamespaceFacts[]> {
  return Promise.all(
    names.map(async (name) => {
      const [facts, policies] = await Promise.all([
        namespaceFacts(client, name, signal),
        // What the test has brought is what is tried.
        pods === undefined ? policiesIn(client, name, signal) : {},
      ]);
      return { ...facts, ...policies };
    }),
  );
}

/** Who may not see them is told what fails all the same. */
async function policiesIn(
  client: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<Pick<NamespaceFacts, "labels" | "policies">> {
  const ifHidden = (error: unknown) => {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  };
  const [policies, namespace] = await Promise.all([
    client.list(NetworkPolicy, { namespace: name, signal, omitManagedFields: true }).catch(ifHidden),
    client.get(Namespace, { name }, { signal }).catch(ifHidden),
  ]);
  const { labels } = namespace?.metadata ?? {};
  return { policies: policies?.items ?? [], ...(labels && { labels }) };
}

async function namespaceFacts(client: KubeClient, name: string, signal: AbortSignal): Promise<NamespaceFacts> {
  const options = { namespace: name, signal, omitManagedFields: true };
  const [pods, slices] = await Promise.all([client.list(Pod, options), client.list(EndpointSlice, options)]);
  return { name, pods: pods.items, slices: slices.items };
}

/** The port of the Service is not that of its endpoints. */
async function withPort(client: KubeClient, chances: Chances, signal: AbortSignal): Promise<Chances> {
  const { service, asker, ...rest } = chances;
  if (service === undefined || asker === undefined) return { ...rest, ...(asker && { asker }) };
  const { spec } = await client.get(Service, { name: service.name, namespace: asker.namespace }, { signal });
  const port = spec?.ports?.find(({ protocol = "TCP" }) => protocol === "TCP")?.port;
  return { ...rest, asker, ...(port !== undefined && { service: { ...service, port } }) };
}

function nameOf(network: SiteNetwork, id: string): string {
  return id === network.id ? network.name : (network.nameOf(id) ?? id);
}
