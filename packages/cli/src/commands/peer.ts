import { AddressPlan, newObject, Peering, Site } from "@fjord/api";
import { didYouMean, sleep } from "@fjord/base";
import { parseToken } from "@fjord/continuum/identity";
import {
  getCondition,
  ifNotFound,
  isAlreadyExists,
  isBeingDeleted,
  isForbidden,
  type KubeClient,
  Node,
} from "@fjord/kube";
import type { Command } from "commander";
import { afterRemoval, type RemovalOptions } from "../command-line/after-removal.ts";
import { checkedName } from "../command-line/checked-names.ts";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { exclusiveFlag } from "../command-line/exclusive-flag.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { amountsText, type Changes, type ResourceFlags, resourcesOf, withChanges } from "../command-line/resources.ts";
import { type Progress, waitFor } from "../command-line/wait-for.ts";
import {
  ContractsClosed,
  InvalidValue,
  MayNotUse,
  NodeNameRefused,
  NotKnownThere,
  NotShared,
  PeeringExists,
  ResizeRefused,
  ThisSite,
  UnknownSite,
  WishWithdrawn,
} from "../errors.ts";
import { type LinkFacts, linkWaits, withoutNetwork } from "../network/link-waits.ts";
import { isToken, pairBy } from "../pairing.ts";
import { tellOfSilence } from "../place/agent-silence.ts";
import { dataOfUnrenewed } from "../place/data-of-unrenewed.ts";
import { idOf, silenceOfSite } from "../place/known-places.ts";
import { commandOf } from "../place/peer-command.ts";
import { CLOSED, limitOf, otherAmountsMissed, REFUSALS, wasRefused } from "../place/peering-message.ts";

interface PeerFlags extends ClusterFlags, ResourceFlags {
  readonly namespace: string;
  readonly name?: string;
  readonly nodeName?: string;
  readonly bothWays: boolean;
  readonly link?: boolean;
  readonly via?: string;
  /** Left out: as it was, and where there was no peering, renewed. */
  readonly renew?: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

const several = (value: string, before: string[]) => [...before, value];

export function addPeer(program: Command, context: CommandContext): void {
  const command = program
    .command("peer")
    .description("use a slice of another site: agree on a contract, and see the site as a node")
    .argument("<site-or-token>", "a site that this one knows, or a pairing token of one that it does not");
  clusterOptions(command)
    .option(
      "--cpu <amount>",
      "processors wanted; of a peering that exists, what is left out stays, and `none` takes it back",
    )
    .option("--memory <amount>", "memory wanted")
    .option("--pods <count>", "pods wanted")
    .option("--resource <name=amount>", "any other resource; several times", several, [])
    .option("--name <name>", "name of the peering (default: the site's)")
    .option("--node-name <name>", "name of the virtual node (default: the peering's)")
    .option("--both-ways", "with a token: let the other site use this one too, as far as this one shares", false)
    .option("--link", "let pods of offloaded namespaces reach each other across the two sites")
    .option("--no-link", "end the link of a peering that exists")
    .option(
      "--via <site>",
      "with --link: through this site's gateway, where the gateways of the two cannot meet; `none` takes it back",
    )
    .option("--renew", "have the contract renewed before it ends, as it is unless somebody has said otherwise")
    .option("--no-renew", "let the contract end when its time is over")
    .option("--namespace <name>", "namespace of the agent", "fjord-system")
    .option("--no-wait", "return without waiting for the virtual node")
    .option("--timeout <duration>", "how long to wait", "60s")
    .action((target: string, flags: PeerFlags) => peer(target, flags, context));
  for (const name of ["link", "renew"]) exclusiveFlag(command, name);
}

async function peer(target: string, flags: PeerFlags, context: CommandContext): Promise<void> {
  const { signal, clock, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  const changes = resourcesOf(flags);
  if (flags.name !== undefined) checkedName("--name", flags.name);
  if (flags.nodeName !== undefined) checkedName("--node-name", flags.nodeName);
  const isNamed = flags.via !== undefined && flags.via !== NO_HUB;
  if (isNamed && !flags.link) {
    const reason = "it says by what way a link goes: add --link";
    throw new InvalidValue({ option: "--via", value: flags.via, reason });
  }
  await using client = await connect(flags, context);
  await tellOfSilence(client, context);
  // Before a token is redeemed for nothing.
  if (isToken(target)) wantedOf(changes, (await peeringByToken(client, target, flags.name, signal))?.spec.resources);
  if (isNamed) await known(client, flags.via ?? "", signal, "reach others through itself");
  const pairing = { ...flags, timeoutMs, signal, told: (line: string) => note(`${line}\n`) };
  const site = isToken(target) ? await pairBy(client, target, pairing) : target;
  const provider = await known(client, site, signal);
  const silence = silenceOfSite(provider);
  const name = flags.name ?? site;
  const { nodeName, renew } = flags;
  const way = wayOf(flags);
  const more = { ...(nodeName !== undefined && { nodeName }), ...(renew !== undefined && { renew }) };
  const wish = { name, site, changes, way, ...more };
  const peering = await createOrResize(client, wish, { signal, timeoutMs, told: pairing.told, now: clock.now() });
  if (!peering.spec.renew) {
    if (renew === undefined) context.warn(`${unrenewed(peering)}\n`);
    const isChanging = Object.keys(changes).length > 0;
    const data = await dataOfUnrenewed(client, peering, provider, { isChanging, signal });
    if (data !== undefined) context.warn(`${data}\n`);
  }
  if (!flags.wait) {
    print(`peering ${name} is asked for: \`fjord status\` shows what comes of it\n`);
  } else {
    let limit: string | undefined;
    const look = (found: Peering | undefined) => {
      if (found === undefined || isBeingDeleted(found)) throw new WishWithdrawn({ what: `peering ${name}` });
      const ready = getCondition(found.status?.conditions, "Ready");
      const isCurrent = ready?.observedGeneration === found.metadata.generation;
      if (ready?.status !== "True" || !isCurrent) return howFar(found, silence);
      limit = limitOf(found);
      return resized(found);
    };
    const what = `peering ${name} was not ready`;
    await waitFor(client, Peering, { name }, look, { signal, timeoutMs, what, told: pairing.told });
    if (limit !== undefined) context.warn(`${site} limits what it gives: ${limit}\n`);
    print(`peered with ${site}: node ${peering.spec.virtualNode.name ?? name}\n`);
  }
  if (peering.spec.link) await tellOfLink(client, site, flags.wait ? LINK_MS : 0, context);
}

/** So long what a peer has told of its network may take to be in a plan. */
const LINK_MS = 5_000;
const LOOK_AGAIN_MS = 250;

/** A peering is ready without its link, and whoever asked for that may not know what it waits for. */
async function tellOfLink(
  client: KubeClient,
  site: string,
  forMs: number,
  { clock, signal, warn }: CommandContext,
): Promise<void> {
  for (const until = clock.now() + forMs; ; await sleep(clock, LOOK_AGAIN_MS, signal)) {
    signal.throwIfAborted();
    const facts = await linkFacts(client, signal).catch((error: unknown) => {
      if (isForbidden(error)) return undefined;
      throw error;
    });
    const waits = facts && linkWaits(site, facts);
    if (facts === undefined || waits === undefined) return;
    if (clock.now() < until && withoutNetwork(facts.sites) === undefined) continue;
    return warn(`the link waits: ${waits}\n`);
  }
}

async function linkFacts(client: KubeClient, signal: AbortSignal): Promise<LinkFacts> {
  const [sites, plans, nodes] = await Promise.all([
    client.list(Site, { signal }),
    client.list(AddressPlan, { signal }),
    client.list(Node, { signal, omitManagedFields: true }),
  ]);
  const ranges = nodes.items.flatMap(({ spec }) => spec?.podCIDRs ?? []);
  return { sites: sites.items, plans: plans.items, ranges };
}

interface Waiting extends Omit<RemovalOptions<Peering>, "what"> {
  readonly now: number;
}

interface Wish {
  readonly name: string;
  readonly site: string;
  readonly changes: Changes;
  readonly way: Way;
  readonly nodeName?: string;
  readonly renew?: boolean;
}

/** Somebody has said so before, and who asks again may not know. */
function unrenewed(peering: Peering): string {
  const command = `${commandOf(peering)} --renew`;
  return `peering ${peering.metadata.name} stays as it was set, not to be renewed (renew: false): when its contract runs out, so does its node (\`fjord status\` says when); \`${command}\` has it renewed`;
}

/** What is said of a link; asking for amounts alone takes none away, and null takes a hub back. */
interface Way {
  readonly link?: boolean;
  readonly via?: string | null;
}

/** In the place of a site's name: through nobody. */
const NO_HUB = "none";

function wayOf({ link, via }: PeerFlags): Way {
  const isNone = via === NO_HUB || link === false;
  return { ...(link !== undefined && { link }), ...(isNone ? { via: null } : via !== undefined && { via }) };
}

function withWay<Spec extends object>(spec: Spec, { via, link }: Way): Spec & Pick<Peering["spec"], "via"> {
  const { via: before, ...rest } = spec as Spec & Pick<Peering["spec"], "via">;
  const hub = via === null ? undefined : (via ?? before);
  return { ...rest, ...(link !== undefined && { link }), ...(hub !== undefined && { via: hub }) } as Spec;
}

/**
 * One that is ending takes no wish: it is waited for, and what is wanted then is asked for as if for the first time.
 * Asking again with other amounts is a resize of those that are named, and where the contract is over it is a new beginning, by a
 * single write: whenever this ends, the wish is there. With another site it is a mistake.
 */
async function createOrResize(client: KubeClient, wish: Wish, waiting: Waiting): Promise<Peering> {
  const { name, site, changes, way, nodeName, renew } = wish;
  const renewal = renew === undefined ? {} : { renew };
  const { signal } = waiting;
  const writing = { fieldManager: "fjord-cli", signal };
  const found = await peeringCalled(client, name, signal);
  if (found === undefined) {
    const virtualNode = { ...(nodeName !== undefined && { name: nodeName }) };
    const spec = withWay({ site, resources: wantedOf(changes), virtualNode, ...renewal }, way);
    try {
      return await client.create(Peering, newObject(Peering, { metadata: { name }, spec }), writing);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return await createOrResize(client, wish, waiting);
    }
  }
  if (isBeingDeleted(found)) {
    wantedOf(changes);
    await afterRemoval(client, Peering, { name }, { ...waiting, what: `peering ${name}` });
    return await createOrResize(client, wish, waiting);
  }
  if (found.spec.site !== site) throw new PeeringExists({ name, site: found.spec.site, wanted: site });
  const node = found.spec.virtualNode.name ?? name;
  if (nodeName !== undefined && nodeName !== node) {
    const reason = `the node of peering ${name} is ${node}, and keeps its name; --name makes a second peering`;
    throw new InvalidValue({ option: "--node-name", value: nodeName, reason });
  }
  const resources = wantedOf(changes, found.spec.resources);
  const isOver = getCondition(found.status?.conditions, "Agreed")?.reason === "ContractEnded";
  if (Object.keys(changes).length > 0) waiting.told?.(`asking for ${amountsText(resources)}`);
  const askedAt = new Date(waiting.now).toISOString();
  // A merge patch keeps what it does not name, and takes out by null.
  const spec = { resources: changes, ...way, ...renewal, ...((isOver || wasRefused(found)) && { askedAt }) };
  const patched = await client.patch(Peering, { name }, "merge", { spec }, writing);
  if (isBeingDeleted(patched)) return await createOrResize(client, wish, waiting);
  // Kinds of an older version do not know the field: then nothing has changed, and nobody would ask.
  const isAsked = !isOver || patched.metadata.generation !== found.metadata.generation;
  return isAsked ? patched : await beginAnew(client, found, { resources, way, ...renewal }, waiting);
}

async function peeringCalled(client: KubeClient, name: string, signal: AbortSignal): Promise<Peering | undefined> {
  return await client.get(Peering, { name }, { signal }).catch(ifNotFound);
}

/** The peering that a token is to bring to life again, where the site that it is of has forgotten this one. */
async function peeringByToken(
  client: KubeClient,
  token: string,
  called: string | undefined,
  signal: AbortSignal,
): Promise<Peering | undefined> {
  const { site: id } = parseToken(token);
  const site = (await listOrExplain(client, Site, signal)).find((each) => idOf(each) === id)?.metadata.name;
  if (site === undefined) return undefined;
  const found = await peeringCalled(client, called ?? site, signal);
  // One that is ending takes its amounts along.
  return found?.spec.site === site && !isBeingDeleted(found) ? found : undefined;
}

/** The amounts after a change, of which there must be some. */
function wantedOf(changes: Changes, before: Peering["spec"]["resources"] = {}): Peering["spec"]["resources"] {
  const wanted = withChanges(before, changes);
  if (Object.keys(wanted).length > 0) return wanted;
  throw new InvalidValue({ option: "--cpu, --memory", value: "left out", reason: "say how much is wanted" });
}

/** Where `askedAt` is not known: what the contract was about goes, and is asked for as if for the first time. */
async function beginAnew(
  client: KubeClient,
  { metadata, spec }: Peering,
  { resources, way, renew = spec.renew }: Pick<Peering["spec"], "resources"> & Pick<Wish, "way" | "renew">,
  waiting: Waiting,
): Promise<Peering> {
  const { name = "", uid = "", labels, annotations } = metadata;
  const { signal } = waiting;
  await client.delete(Peering, { name }, { preconditions: { uid }, signal });
  await afterRemoval(client, Peering, { name }, { ...waiting, what: `peering ${name}` });
  const object = newObject(Peering, {
    metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: withWay({ ...spec, resources, renew }, way),
  });
  return await client.create(Peering, object, { fieldManager: "fjord-cli", signal });
}

/** A misspelt site is a mistake now, not something to wait for. */
async function known(client: KubeClient, name: string, signal: AbortSignal, what = "peer with itself"): Promise<Site> {
  const sites = await listOrExplain(client, Site, signal);
  const own = sites.find(({ status }) => status?.role === "Self")?.metadata.name;
  if (name === own) throw new ThisSite({ name, what });
  const others = sites.map(({ metadata }) => metadata.name ?? "").filter((each) => each !== own);
  const site = sites.find(({ metadata }) => metadata.name === name);
  if (site === undefined) throw new UnknownSite({ name, hint: didYouMean(name, others) });
  return site;
}

/** A peering that is in service may be so with the amounts of before: those asked for now were refused, or nobody answers. */
function resized(peering: Peering): Progress {
  const reason = otherAmountsMissed(peering);
  if (reason === undefined) return { done: true };
  const progress = getCondition(peering.status?.conditions, "Agreed")?.message ?? reason;
  if (!reason.startsWith("cannot ")) throw new ResizeRefused({ name: peering.metadata.name, reason: progress });
  return { done: false, progress };
}

/** By who has to do what: to pair anew, to share at all, to open what is closed, or to let this site be a consumer, which pairing says for one of the two alone. */
export function closed(what: string, reason: string): Error {
  if (reason.includes("has closed its contracts")) return new ContractsClosed({ what, reason });
  if (reason.includes("pair them first")) return new NotKnownThere({ what, reason });
  return reason.includes("mayConsume") ? new MayNotUse({ what, reason }) : new NotShared({ what, reason });
}

/** `silence`: why the site is known not to answer, where it is; the agent hears that of its own question much later. */
export function howFar({ metadata, status }: Peering, silence?: string): Progress {
  const waiting = (["Paired", "Agreed", "Realised", "Ready"] as const)
    .map((type) => getCondition(status?.conditions, type))
    .find((condition) => condition?.status !== "True");
  if (waiting === undefined) return { done: false, progress: silence ?? "waiting for the agent" };
  const { type, reason, message, observedGeneration } = waiting;
  const isCurrent = observedGeneration === metadata.generation;
  const progress = [type, reason, message].filter((part) => part).join(": ");
  if (isCurrent && reason === "NodeNameTaken") throw new NodeNameRefused({ name: metadata.name, reason: progress });
  if (isCurrent && CLOSED.includes(reason)) {
    throw closed(`peering ${metadata.name} was not ready`, progress);
  }
  return { done: false, progress, refused: isCurrent && REFUSALS.includes(reason) };
}
