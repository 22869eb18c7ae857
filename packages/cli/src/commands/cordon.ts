import { Contract, Peering, Site } from "@fjord/api";
import { didYouMean } from "@fjord/base";
import { isNotFound, type KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { waitUntilDrained } from "../drain/wait-until-drained.ts";
import { NoSuchThing, ThisSite } from "../errors.ts";
import { tellOfSilence } from "../place/agent-silence.ts";
import { closedThere, isClosedStill, takesPods } from "../place/contract-standing.ts";
import { placesAsFarAsMay, siteById } from "../place/known-places.ts";
import { warnOfMoved } from "../place/moved-workloads.ts";

const verbs = {
  cordon: {
    standing: "Cordoned",
    done: "cordoned",
    description: "take no new pods under a contract; running ones stay",
  },
  drain: { description: "take no new pods under a contract, evict those that run, and wait until they are gone" },
  uncordon: { standing: "Open", done: "open", description: "take pods again" },
} as const;

interface DrainFlags extends ClusterFlags {
  readonly wait: boolean;
  readonly timeout: string;
}

/** `cordon`, `drain` and `uncordon`: the owner's wish about contracts, on whichever side it is said. */
export function addCordon(program: Command, context: CommandContext): void {
  for (const verb of ["cordon", "drain", "uncordon"] as const) {
    const command = program
      .command(verb)
      .description(verbs[verb].description)
      .argument("<name>", "a contract, a peering, or a site with which there are contracts");
    clusterOptions(command);
    if (verb === "drain") {
      command
        .option("--no-wait", "return at once; pods go as disruption budgets and their grace periods let them")
        .option("--timeout <duration>", "how long to wait until the pods are gone", "5m")
        .action((name: string, flags: DrainFlags) => drain(name, flags, context));
    } else command.action((name: string, flags: ClusterFlags) => stand(verb, name, flags, context));
  }
}

async function stand(
  verb: "cordon" | "uncordon",
  name: string,
  flags: ClusterFlags,
  context: CommandContext,
): Promise<void> {
  await using client = await connect(flags, context);
  await tellOfSilence(client, context);
  const { standing, done } = verbs[verb];
  for (const contract of await contractsOf(client, name, verb, context.signal)) {
    const patch = { spec: { standing } };
    const { spec, status } = await client.patch(Contract, { name: contract }, "merge", patch, {
      signal: context.signal,
    });
    context.print(`contract ${contract} ${done}\n`);
    const changed = { spec, ...(status && { status }) };
    if (status?.phase === "Ended") {
      context.note("it is over, and its consumer may have another one now\n");
      continue;
    }
    if (verb === "uncordon") await warnOfOther(client, changed, context);
    else await sayWhoFollows(client, changed, context);
  }
}

/** Pods are served once both sides want it: who opens one side is told what keeps the other one closed. */
async function warnOfOther(
  client: KubeClient,
  contract: Pick<Contract, "spec" | "status">,
  { signal, warn }: CommandContext,
): Promise<void> {
  const { terms } = contract.spec;
  const isProvider = contract.status?.side === "Provider";
  const id = isProvider ? terms.consumer : terms.provider;
  const other = siteById(await placesAsFarAsMay(client, signal), id)?.metadata.name ?? id;
  const closed = closedThere(contract, other);
  if (closed === undefined) return;
  const what = isProvider ? "its pods do not come" : "its node takes no pods";
  warn(`it is still ${closed}, so ${what}: \`fjord uncordon\` at ${other} opens it there\n`);
}

/** A provider takes no pods from that moment on; the consumer's node shows it once that site has heard of it. */
async function sayWhoFollows(
  client: KubeClient,
  { spec, status }: Pick<Contract, "spec" | "status">,
  { signal, note }: CommandContext,
): Promise<void> {
  if (status?.side !== "Provider") return;
  const { consumer } = spec.terms;
  const other = siteById(await placesAsFarAsMay(client, signal), consumer)?.metadata.name ?? consumer;
  const when = `once ${other} has heard of it, within seconds where it reaches this site`;
  note(`nothing new begins here; its node shows that ${when}, and pods that land there until then wait\n`);
}

async function drain(name: string, flags: DrainFlags, context: CommandContext): Promise<void> {
  const { signal, clock, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  await using client = await connect(flags, context);
  await tellOfSilence(client, context);
  const contracts = await contractsOf(client, name, "drain", signal);
  const left = new Set<string>();
  for (const contract of contracts) {
    const patch = { spec: { standing: "Drained" } };
    const { spec, status } = await client.patch(Contract, { name: contract }, "merge", patch, { signal });
    if (status?.side === "Consumer") left.add(spec.terms.provider);
  }
  const places = await placesAsFarAsMay(client, signal);
  // What was moved there runs under another contract as well.
  for (const id of [...left].filter((each) => !takesPods(places.contracts, each)))
    await warnOfMoved(client, places, context, { site: siteById(places, id)?.metadata.name ?? id });
  if (!flags.wait) return print(contracts.map((contract) => `contract ${contract} draining\n`).join(""));
  const ends = contracts.map(async (contract) => {
    const what = `contract ${contract} was not drained`;
    await waitUntilDrained(client, contract, { signal, clock, timeoutMs, what, told: (line) => note(`${line}\n`) });
    print(`contract ${contract} drained\n`);
  });
  // One that is not empty in time is told of once the others are.
  const failed = (await Promise.allSettled(ends)).find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** The contracts in force that a name means: of a peering, of a site, or the one itself. To be opened are also those that are over and still keep their consumer from another. */
async function contractsOf(
  client: KubeClient,
  name: string,
  verb: keyof typeof verbs,
  signal: AbortSignal,
): Promise<string[]> {
  const contracts = await listOrExplain(client, Contract, signal);
  const live = contracts.filter(
    ({ spec, status }) =>
      status?.phase !== "Ended" || (verb === "uncordon" && isClosedStill({ spec, ...(status && { status }) })),
  );
  const nameOf = ({ metadata }: Contract) => metadata.name ?? "";
  if (live.some((contract) => nameOf(contract) === name)) return [name];
  const peering = await optional(client.get(Peering, { name }, { signal }));
  if (peering?.status?.contract !== undefined) return [peering.status.contract];
  const site = await optional(client.get(Site, { name }, { signal }));
  // This site is in every contract that it has: who names it means another one, or another --context.
  if (site?.status?.role === "Self") throw new ThisSite({ name, what: `be ${verb}ed` });
  const id = site?.status?.id ?? site?.spec.id;
  const found = live.filter(({ spec }) => id !== undefined && [spec.terms.consumer, spec.terms.provider].includes(id));
  if (found.length === 0)
    throw new NoSuchThing({
      what: "contract in force, or peering or site with one, called",
      name,
      hint: didYouMean(name, await namesOf(client, live, signal)),
    });
  return found.map(nameOf);
}

/** All that could have been meant. */
async function namesOf(client: KubeClient, live: readonly Contract[], signal: AbortSignal): Promise<string[]> {
  const lists = await Promise.all([listOrExplain(client, Peering, signal), listOrExplain(client, Site, signal)]);
  return [...live, ...lists.flat()].map(({ metadata }) => metadata.name ?? "");
}

async function optional<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
