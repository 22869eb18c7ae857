import { newObject, Peering, Site } from "@fjord/api";
import { getCondition, isAlreadyExists, type KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { type ResourceFlags, resourcesOf } from "../command-line/resources.ts";
import { didYouMean } from "../command-line/suggestion.ts";
import { type Progress, type WaitOptions, waitFor } from "../command-line/wait-for.ts";
import { InvalidValue, NoSuchThing, PeeringExists, ThisSite } from "../errors.ts";
import { isToken, pairBy } from "../pairing.ts";

interface PeerFlags extends ClusterFlags, ResourceFlags {
  readonly namespace: string;
  readonly name?: string;
  readonly nodeName?: string;
  readonly bothWays: boolean;
  readonly link: boolean;
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
    .option("--cpu <amount>", "processors wanted")
    .option("--memory <amount>", "memory wanted")
    .option("--pods <count>", "pods wanted")
    .option("--resource <name=amount>", "any other resource; several times", several, [])
    .option("--name <name>", "name of the peering (default: the site's)")
    .option("--node-name <name>", "name of the virtual node (default: the peering's)")
    .option("--both-ways", "with a token: let the other site use this one too, as far as this one shares", false)
    .option("--link", "let pods of offloaded namespaces reach each other across the two sites", false)
    .option("--namespace <name>", "namespace of the agent", "fjord-system")
    .option("--no-wait", "return without waiting for the virtual node")
    .option("--timeout <duration>", "how long to wait", "60s")
    .action((target: string, flags: PeerFlags) => peer(target, flags, context));
}

async function peer(target: string, flags: PeerFlags, context: CommandContext): Promise<void> {
  const { signal, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  const resources = resourcesOf(flags);
  if (Object.keys(resources).length === 0)
    throw new InvalidValue({ option: "--cpu, --memory", value: "left out", reason: "say how much is wanted" });
  await using client = await connect(flags, context);
  const pairing = { ...flags, timeoutMs, signal, told: (line: string) => note(`${line}\n`) };
  const site = isToken(target) ? await pairBy(client, target, pairing) : target;
  await known(client, site, signal);
  const name = flags.name ?? site;
  const object = newObject(Peering, {
    metadata: { name },
    spec: {
      site,
      resources,
      link: flags.link,
      virtualNode: { ...(flags.nodeName !== undefined && { name: flags.nodeName }) },
    },
  });
  await createOrResize(client, object, { signal, timeoutMs, told: pairing.told });
  if (flags.wait) {
    const look = (found: Peering | undefined) => {
      const ready = getCondition(found?.status?.conditions, "Ready");
      const isCurrent = ready?.observedGeneration === found?.metadata.generation;
      if (ready?.status !== "True" || !isCurrent) return howFar(found);
      return resized(found);
    };
    const what = `peering ${name} was not ready`;
    await waitFor(client, Peering, { name }, look, { signal, timeoutMs, what, told: (line) => note(`${line}\n`) });
  }
  print(`peered with ${site}: node ${flags.nodeName ?? name}\n`);
}

type Waiting = Omit<WaitOptions, "what">;

/**
 * Asking again with other amounts is a resize, and where the contract is over it is a new beginning; with another site it is a
 * mistake.
 */
async function createOrResize(client: KubeClient, object: Peering, waiting: Waiting): Promise<void> {
  const { signal } = waiting;
  try {
    await client.create(Peering, object, { fieldManager: "fjord-cli", signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const key = { name: object.metadata.name ?? "" };
    const found = await client.get(Peering, key, { signal });
    if (found.spec.site !== object.spec.site)
      throw new PeeringExists({ name: key.name, site: found.spec.site, wanted: object.spec.site });
    if (getCondition(found.status?.conditions, "Agreed")?.reason === "ContractEnded") {
      await beginAnew(client, found, object, waiting);
      return;
    }
    // A merge patch keeps resources that it does not name: those that are no longer wanted are taken out by null.
    const gone = Object.keys(found.spec.resources).filter((name) => !(name in object.spec.resources));
    const resources = { ...object.spec.resources, ...Object.fromEntries(gone.map((name) => [name, null])) };
    // Asking for amounts alone takes no link away.
    const spec = { resources, ...(object.spec.link && { link: true }) };
    await client.patch(Peering, key, "merge", { spec }, { fieldManager: "fjord-cli", signal });
  }
}

/** A contract that an owner has ended stays so: what it was about goes, and is asked for as if for the first time. */
async function beginAnew(client: KubeClient, { metadata, spec }: Peering, wanted: Peering, waiting: Waiting) {
  const { name = "", uid = "", labels, annotations } = metadata;
  const { signal } = waiting;
  await client.delete(Peering, { name }, { preconditions: { uid }, signal });
  const look = (left: Peering | undefined): Progress =>
    left === undefined ? { done: true } : { done: false, progress: `${name}: what its last contract left is going` };
  await waitFor(client, Peering, { name }, look, { ...waiting, what: `peering ${name} of before was not gone` });
  const object = {
    ...wanted,
    metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: { ...spec, resources: wanted.spec.resources },
  };
  await client.create(Peering, object, { fieldManager: "fjord-cli", signal });
}

/** A misspelt site is a mistake now, not something to wait for. */
async function known(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const sites = await listOrExplain(client, Site, signal);
  const names = sites.map(({ metadata }) => metadata.name ?? "");
  if (!names.includes(name)) throw new NoSuchThing({ what: "site", name, hint: didYouMean(name, names) });
  const own = sites.find(({ status }) => status?.role === "Self")?.metadata.name;
  if (name === own) throw new ThisSite({ name, what: "peer with itself" });
}

/** A peering that is in service may be so with the amounts of before: those asked for now were refused, or nobody answers. */
function resized(peering: Peering | undefined): Progress {
  const progress = getCondition(peering?.status?.conditions, "Agreed")?.message ?? "";
  const [, reason] = /is in force; other amounts: (.*)/s.exec(progress) ?? [];
  if (reason === undefined) return { done: true };
  return { done: false, progress, refused: !reason.startsWith("cannot ") };
}

/** Answers that stay what they are until somebody changes something. */
const REFUSALS = ["NotSharing", "ConsumerRefused", "AmountRefused", "NodeNameTaken"];

function howFar(peering: Peering | undefined): Progress {
  const waiting = (["Paired", "Agreed", "Realised", "Ready"] as const)
    .map((type) => getCondition(peering?.status?.conditions, type))
    .find((condition) => condition?.status !== "True");
  if (waiting === undefined) return { done: false, progress: "waiting for the agent" };
  const { type, reason, message, observedGeneration } = waiting;
  const isCurrent = observedGeneration === peering?.metadata.generation;
  const progress = [type, reason, message].filter((part) => part).join(": ");
  return { done: false, progress, refused: isCurrent && REFUSALS.includes(reason) };
}
