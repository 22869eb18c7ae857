import { isKeptNamespace, newObject, OFFLOADING_NAME, Offloading, Site } from "@fjord/api";
import { getCondition, isBeingDeleted, isNotFound, type KubeClient, Namespace } from "@fjord/kube";
import { type Command, Option } from "commander";
import { afterRemoval } from "../command-line/after-removal.ts";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { namespaceOf } from "../command-line/namespace-option.ts";
import { didYouMean } from "../command-line/suggestion.ts";
import { type Progress, type WaitOptions, waitFor } from "../command-line/wait-for.ts";
import { InvalidValue, KeptNamespace, NoSuchThing, TwinNameRefused, WishWithdrawn } from "../errors.ts";
import { type KnownPlaces, placesAsFarAsMay } from "../place/known-places.ts";
import { twinsLeft } from "../place/twins-left.ts";
import { twinsReady } from "../place/twins-ready.ts";

interface OffloadFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly pods: "Local" | "Remote" | "Both";
  readonly naming: "Suffixed" | "Same" | "Chosen";
  readonly twinName?: string;
  readonly selector: readonly string[];
  readonly whenUnreachable: string;
  readonly wait: boolean;
  readonly timeout: string;
}

const several = (value: string, before: string[]) => [...before, ...value.split(",")];

export function addOffload(program: Command, context: CommandContext): void {
  const command = program
    .command("offload")
    .description("let a namespace extend to other sites")
    .argument("[namespace]", "the namespace");
  clusterOptions(command)
    .option("-n, --namespace <name>", "the namespace, in kubectl's way")
    .addOption(
      new Option("--pods <where>", "where its pods may run").choices(["Local", "Remote", "Both"]).default("Both"),
    )
    .addOption(
      new Option("--naming <strategy>", "what the twins are called")
        .choices(["Suffixed", "Same", "Chosen"])
        .default("Suffixed"),
    )
    .option("--twin-name <name>", "the twins' name, with --naming Chosen")
    .option(
      "--selector <label=value>",
      "only virtual nodes with this label; several times, or several with commas",
      several,
      [],
    )
    .option(
      "--when-unreachable <action>",
      "Keep, or Evict, or Evict=30s: what becomes of pods at a site that is away",
      "Evict",
    )
    .option("--no-wait", "return without waiting for the twins")
    .option("--timeout <duration>", "how long to wait", "60s")
    .action((namespace: string | undefined, flags: OffloadFlags) =>
      offload(namespaceOf(namespace, flags), flags, context),
    );
}

async function offload(namespace: string, flags: OffloadFlags, context: CommandContext): Promise<void> {
  const { signal, print, note, warn } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  if (isKeptNamespace(namespace)) throw new KeptNamespace({ namespace });
  const object = newObject(Offloading, {
    metadata: { name: OFFLOADING_NAME, namespace },
    spec: {
      pods: flags.pods,
      naming: { strategy: flags.naming, ...(flags.twinName !== undefined && { name: flags.twinName }) },
      sites: { ...(flags.selector.length > 0 && { matchLabels: labelsOf(flags.selector) }) },
      whenUnreachable: unreachable(flags.whenUnreachable),
    },
  });
  await using client = await connect(flags, context);
  const key = { name: OFFLOADING_NAME, namespace };
  const what = `the offloading of namespace ${namespace}`;
  const told = (progress: string) => note(`${progress}\n`);
  const places = await placesAsFarAsMay(client, signal);
  const detail = (found: Offloading) => twinsLeft(found, places);
  let applied: Offloading;
  do {
    await afterRemoval(client, Offloading, key, { signal, timeoutMs, what, told, detail });
    applied = await applyTo(client, object, namespace, signal);
  } while (isBeingDeleted(applied));
  const silent = flags.wait ? await twinsMade(client, namespace, places, { signal, timeoutMs, told }) : [];
  for (const site of silent) warn(`${site} does not answer: its twin follows when it answers again\n`);
  print(`namespace ${namespace} offloaded\n`);
}

/** Waits until every site that answers has its twin; those that do not are returned. */
async function twinsMade(
  client: KubeClient,
  namespace: string,
  places: Pick<KnownPlaces, "sites">,
  waiting: Omit<WaitOptions, "what">,
): Promise<readonly string[]> {
  let silent: readonly string[] = [];
  const look = async (found: Offloading | undefined, signal: AbortSignal): Promise<Progress> => {
    if (found === undefined || isBeingDeleted(found))
      throw new WishWithdrawn({ what: `the offloading of namespace ${namespace}` });
    const isTold = getCondition(found.status?.conditions, "Ready") !== undefined;
    const twins = twinsReady(found, isTold ? { sites: await listOrExplain(client, Site, signal) } : places);
    if (twins.isNameRefused) throw new TwinNameRefused({ namespace, reason: twins.progress });
    silent = twins.silent;
    return twins.done ? { done: true } : { done: false, progress: twins.progress };
  };
  const what = `namespace ${namespace} had no twin`;
  await waitFor(client, Offloading, { name: OFFLOADING_NAME, namespace }, look, { ...waiting, what });
  return silent;
}

/** There is nothing to extend where there is no namespace, or no Fjord. */
async function applyTo(
  client: KubeClient,
  object: Offloading,
  namespace: string,
  signal: AbortSignal,
): Promise<Offloading> {
  try {
    return await client.apply(Offloading, object, { fieldManager: "fjord-cli", force: true, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await listOrExplain(client, Offloading, signal);
    const names = (await listOrExplain(client, Namespace, signal)).map(({ metadata }) => metadata.name ?? "");
    if (names.includes(namespace)) throw error;
    throw new NoSuchThing({ what: "namespace", name: namespace, hint: didYouMean(namespace, names) });
  }
}

function labelsOf(selectors: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    selectors.map((text) => {
      const [key = "", value] = text.split("=");
      if (key === "" || value === undefined)
        throw new InvalidValue({ option: "--selector", value: text, reason: "it must be label=value" });
      return [key, value];
    }),
  );
}

function unreachable(text: string): { action: "Evict" | "Keep"; after?: string } {
  const [action, after] = text.split("=");
  if (action === "Keep" && after === undefined) return { action };
  if (action === "Evict") return { action, ...(after !== undefined && { after }) };
  throw new InvalidValue({ option: "--when-unreachable", value: text, reason: "it must be Keep, Evict or Evict=30s" });
}
