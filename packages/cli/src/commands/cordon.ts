import { Contract, Peering, Site } from "@fjord/api";
import { isNotFound, type KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { didYouMean } from "../command-line/suggestion.ts";
import { NoSuchThing } from "../errors.ts";

const verbs = {
  cordon: {
    standing: "Cordoned",
    done: "cordoned",
    description: "take no new pods under a contract; running ones stay",
  },
  drain: {
    standing: "Drained",
    done: "drained",
    description: "take no new pods under a contract, and evict those that run",
  },
  uncordon: { standing: "Open", done: "open", description: "take pods again" },
} as const;

/** `cordon`, `drain` and `uncordon`: the owner's wish about contracts, on whichever side it is said. */
export function addCordon(program: Command, context: CommandContext): void {
  for (const [verb, { standing, done, description }] of Object.entries(verbs)) {
    const command = program
      .command(verb)
      .description(description)
      .argument("<name>", "a contract, a peering, or a site with which there are contracts");
    clusterOptions(command).action(async (name: string, flags: ClusterFlags) => {
      await using client = await connect(flags, context);
      for (const contract of await contractsOf(client, name, context.signal)) {
        await client.patch(Contract, { name: contract }, "merge", { spec: { standing } }, { signal: context.signal });
        context.print(`contract ${contract} ${done}\n`);
      }
    });
  }
}

/** The contracts in force that a name means: of a peering, of a site, or the one itself. */
export async function contractsOf(client: KubeClient, name: string, signal: AbortSignal): Promise<string[]> {
  const contracts = await listOrExplain(client, Contract, signal);
  const live = contracts.filter(({ status }) => status?.phase !== "Ended");
  const nameOf = ({ metadata }: Contract) => metadata.name ?? "";
  if (live.some((contract) => nameOf(contract) === name)) return [name];
  const peering = await optional(client.get(Peering, { name }, { signal }));
  if (peering?.status?.contract !== undefined) return [peering.status.contract];
  const site = await optional(client.get(Site, { name }, { signal }));
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
