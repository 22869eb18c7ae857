import { type AddressPlan, Offloading } from "@fjord/api";
import { EndpointSlice, type KubeClient, Pod, Service } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../../command-line/cluster-options.ts";
import type { CommandContext } from "../../command-line/command-context.ts";
import { UnclearEnd } from "../../errors.ts";
import { colourTable } from "../../output/colour.ts";
import { formatValue, type Output, outputOption } from "../../output/format.ts";
import { ownSiteIn } from "../../place/known-places.ts";
import { type PeerFlags, peerClient, peerOptions } from "../peer-options.ts";
import { plansWith } from "../plans-with.ts";
import { type SiteNetwork, siteNetwork } from "../site-network.ts";
import { type RunInPod, runTrials } from "./run-trials.ts";
import { matrix } from "./trial-matrix.ts";
import {
  type Asker,
  type Chances,
  COLUMNS,
  chancesBetween,
  chancesOf,
  linkOutcomes,
  type NamespaceFacts,
  proxyOutcomes,
  type TrialRow,
} from "./trials.ts";

interface TestFlags extends ClusterFlags, PeerFlags {
  readonly outsider?: string;
  readonly output: Output;
}

export function addNetworkTest(network: Command, context: CommandContext): void {
  const command = network
    .command("test")
    .description("try every link in both directions: pods ask each other by commands that are run in them")
    .argument("[sites...]", "of these peers alone");
  peerOptions(outputOption(clusterOptions(command)))
    .option("--outsider <namespace/pod>", "a pod that may not use links, to see that it cannot")
    .action((sites: readonly string[], flags: TestFlags) => test(sites, flags, context));
}

async function test(sites: readonly string[], flags: TestFlags, context: CommandContext): Promise<void> {
  const { signal, print } = context;
  const outsider = flags.outsider === undefined ? undefined : askerOf(flags.outsider);
  await using client = await connect(flags, context);
  const network = await siteNetwork(client, signal);
  await using peer = await peerClient(flags, context);
  const other = peer && (await siteNetwork(peer, signal));
  const run: RunInPod = async ({ namespace, pod }, script) =>
    (await client.exec({ name: pod, namespace }, { command: ["sh", "-c", script], signal })).exitCode;
  const plans = plansWith(sites, network.plans, (id) => nameOf(network, id));
  if (plans.length > 0) context.note("pods ask each other, which takes some seconds\n");
  const means = { client, network, run, signal, ...(other && { other }), ...(outsider && { outsider }) };
  const pairs = plans.flatMap((one) => plans.filter((other) => other !== one).map((other) => [one, other] as const));
  const rows = [
    ...(await Promise.all(plans.map((plan) => bothDirections(plan, means)))),
    // Guests at two providers, which this site has introduced to each other.
    ...(await Promise.all(pairs.map(([one, other]) => betweenProviders(one, other, means)))),
  ].flat();
  if (rows.some(({ outcomes }) => COLUMNS.some((column) => outcomes[column].result === "Failed")))
    context.setExitCode(1);
  const formatted = await formatValue({ items: rows }, flags.output, context.isTerminal);
  if (formatted !== undefined) return print(formatted);
  const shown = rows.length === 0 ? "there are no links to test\n" : matrix(rows, flags.output.format === "wide");
  print(colourTable(shown, context.paint));
}

async function bothDirections(
  plan: AddressPlan,
  { client, network, other, outsider, run, signal }: TestMeans,
): Promise<readonly TrialRow[]> {
  const name = nameOf(network, plan.spec.site);
  const held = isProxied(plan);
  const link = network.links.find(({ spec }) => spec.site === plan.spec.site);
  const shared = await sharedWith(plan, { client, network, signal });
  const namespaces = await Promise.all(shared.map((each) => namespaceFacts(client, each, signal)));
  const { out, back } = chancesOf(network.id, plan, namespaces);
  const mtu = ownSiteIn(network.places)?.spec.network?.mtu ?? 0;
  const noOutsider = `only pods of ${network.name} can be told to ask as outsiders`;
  const [outwards, backwards] = await Promise.all([
    runTrials(await withPorts(client, out, signal), { run, held, ...(outsider && { outsider }) }),
    runTrials(await withPorts(client, back, signal), { run, held, ...(outsider && { noOutsider }) }),
  ]);
  const seen = held ? proxyOutcomes(network.reachable?.(plan.spec.site)) : linkOutcomes(link, mtu);
  const seenThere = other?.id === plan.spec.site ? theirs(other, network.id, held) : unseen();
  return [
    { from: network.name, to: name, outcomes: { ...seen, ...outwards } },
    { from: name, to: network.name, outcomes: { ...seenThere, ...backwards } },
  ];
}

/** One direction between guests at two peers; nothing where these do not meet. What their gateways see is asked of the one that may be. */
async function betweenProviders(
  one: AddressPlan,
  other: AddressPlan,
  { client, network, other: asked, run, signal }: TestMeans,
): Promise<readonly TrialRow[]> {
  const all = await Promise.all([one, other].map((plan) => sharedWith(plan, { client, network, signal })));
  const shared = (all[0] ?? []).filter((name) => all[1]?.includes(name));
  const namespaces = await Promise.all(shared.map((each) => namespaceFacts(client, each, signal)));
  const chances = chancesBetween(one, other, namespaces);
  if (chances === undefined) return [];
  const held = isProxied(one);
  const [from, to] = [one, other].map(({ spec }) => nameOf(network, spec.site)) as [string, string];
  const noOutsider = `only pods of ${network.name} can be told to ask as outsiders`;
  const tried = await runTrials(await withPorts(client, chances, signal), { run, held, noOutsider });
  const seen = held
    ? proxyOutcomes(network.reachable?.(one.spec.site) && network.reachable?.(other.spec.site))
    : asked?.id === one.spec.site
      ? theirs(asked, other.spec.site, held)
      : unseen();
  return [{ from, to, outcomes: { ...seen, ...tried } }];
}

/** Namespaces that a peer has pods of. */
async function sharedWith(
  plan: AddressPlan,
  { client, network, signal }: Pick<TestMeans, "client" | "network" | "signal">,
): Promise<string[]> {
  if (isProxied(plan)) return await offloadedNamespaces(client, signal);
  const link = network.links.find(({ spec }) => spec.site === plan.spec.site);
  return [...new Set((link?.spec.groups ?? []).map((group) => group.name).filter((name) => !name.includes("/")))];
}

interface TestMeans {
  readonly client: KubeClient;
  readonly network: SiteNetwork;
  readonly other?: SiteNetwork;
  readonly outsider?: Asker;
  readonly run: RunInPod;
  readonly signal: AbortSignal;
}

function isProxied({ spec }: AddressPlan): boolean {
  return spec.carrier === "Proxy";
}

async function offloadedNamespaces(client: KubeClient, signal: AbortSignal): Promise<string[]> {
  const { items } = await client.list(Offloading, { signal, omitManagedFields: true });
  return items.map(({ metadata }) => metadata.namespace ?? "");
}

function theirs(other: SiteNetwork, own: string, proxied: boolean) {
  if (proxied) return proxyOutcomes(other.reachable?.(own));
  const mtu = ownSiteIn(other.places)?.spec.network?.mtu ?? 0;
  return linkOutcomes(
    other.links.find(({ spec }) => spec.site === own),
    mtu,
  );
}

function unseen(): ReturnType<typeof linkOutcomes> {
  const outcome = {
    result: "NotTested",
    detail: "only the API of the first of the two knows: --peer-context",
  } as const;
  return { link: outcome, latency: outcome, mtu: outcome };
}

async function namespaceFacts(client: KubeClient, name: string, signal: AbortSignal): Promise<NamespaceFacts> {
  const options = { namespace: name, signal, omitManagedFields: true };
  const [pods, slices] = await Promise.all([client.list(Pod, options), client.list(EndpointSlice, options)]);
  return { name, pods: pods.items, slices: slices.items };
}

function withPorts(client: KubeClient, all: readonly Chances[], signal: AbortSignal): Promise<Chances[]> {
  return Promise.all(all.map((chances) => withPort(client, chances, signal)));
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
  return network.nameOf(id) ?? id;
}

function askerOf(text: string): Asker {
  const [namespace = "", pod = "", ...more] = text.split("/");
  if (namespace === "" || pod === "" || more.length > 0)
    throw new UnclearEnd({ end: text, reason: "--outsider is NAMESPACE/POD" });
  return { namespace, pod };
}
