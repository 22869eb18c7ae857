import { OFFLOADING_NAME, Offloading } from "@fjord/api";
import { isNotFound, type KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { namespaceOf } from "../command-line/namespace-option.ts";
import { type Progress, waitFor } from "../command-line/wait-for.ts";
import { RuleOffloads } from "../errors.ts";
import { tellOfSilence } from "../place/agent-silence.ts";
import { refuseToLoseData } from "../place/claims-elsewhere.ts";
import { placesAsFarAsMay } from "../place/known-places.ts";
import { warnOfMoved } from "../place/moved-workloads.ts";
import { ruleOfNamespace } from "../place/rule-of-namespace.ts";
import { twinsLeft } from "../place/twins-left.ts";
import { namespaceExists } from "../place/workload-pods.ts";

interface UnoffloadFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly discardData: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

export function addUnoffload(program: Command, context: CommandContext): void {
  const command = program
    .command("unoffload")
    .description("bring a namespace home: its pods elsewhere end, its twins are removed")
    .argument("[namespace]", "the namespace");
  clusterOptions(command)
    .option("-n, --namespace <name>", "the namespace, in kubectl's way")
    .option("--discard-data", "though its claims have volumes elsewhere: they are deleted", false)
    .option("--no-wait", "return without waiting for the end")
    .option("--timeout <duration>", "how long to wait", "120s")
    .action((namespace: string | undefined, flags: UnoffloadFlags) =>
      unoffload(namespaceOf(namespace, flags), flags, context),
    );
}

async function unoffload(namespace: string, flags: UnoffloadFlags, context: CommandContext): Promise<void> {
  const { signal, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  const key = { name: OFFLOADING_NAME, namespace };
  await using client = await connect(flags, context);
  await tellOfSilence(client, context);
  const rule = await ruleOfNamespace(client, namespace, signal);
  if (rule !== undefined) throw new RuleOffloads({ namespace, rule });
  if (!flags.discardData) {
    const { sites } = await placesAsFarAsMay(client, signal);
    await refuseToLoseData(client, sites, { namespace, signal });
  }
  if (!(await isDeleted(client, key, signal))) {
    await namespaceExists(client, namespace, signal);
    print(`namespace ${namespace} was not offloaded\n`);
    return await warnOfMoved(client, await placesAsFarAsMay(client, signal), context, { namespace });
  }
  if (flags.wait) {
    const places = await placesAsFarAsMay(client, signal);
    const look = (found: Offloading | undefined): Progress =>
      found === undefined ? { done: true } : { done: false, progress: twinsLeft(found, places) };
    const what = `namespace ${namespace} was not home`;
    await waitFor(client, Offloading, key, look, {
      signal,
      timeoutMs,
      what,
      told: (progress) => note(`${progress}\n`),
    });
  }
  print(`namespace ${namespace} ${flags.wait ? "is home" : "comes home"}\n`);
  await warnOfMoved(client, await placesAsFarAsMay(client, signal), context, { namespace });
}

/** False where there was nothing to delete. */
async function isDeleted(client: KubeClient, key: { name: string; namespace: string }, signal: AbortSignal) {
  try {
    await client.delete(Offloading, key, { signal });
    return true;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return false;
  }
}
