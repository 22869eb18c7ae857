import { isKeptNamespace, newObject, OFFLOADING_NAME, OFFLOADING_RULE_LABEL, Offloading, Site } from "@fjord/api";
import { didYouMean, sleep } from "@fjord/base";
import { offloadingOf } from "@fjord/continuum/offloading-of";
import { getCondition, isAlreadyExists, isBeingDeleted, isNotFound, type KubeClient, Namespace } from "@fjord/kube";
import { type Command, Option } from "commander";
import { afterRemoval } from "../command-line/after-removal.ts";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { namespaceOf } from "../command-line/namespace-option.ts";
import { type Progress, type WaitOptions, waitFor } from "../command-line/wait-for.ts";
import { KeptNamespace, NoSuchThing, RuleDecides, TwinNameRefused, WishWithdrawn } from "../errors.ts";
import { tellOfSilence } from "../place/agent-silence.ts";
import { type KnownPlaces, placesAsFarAsMay } from "../place/known-places.ts";
import { changeOf, checked, firstSpec, type OffloadingFlags } from "../place/offloading-wish.ts";
import { ruleOfNamespace } from "../place/rule-of-namespace.ts";
import { twinsLeft } from "../place/twins-left.ts";
import { type TwinsReady, twinsReady } from "../place/twins-ready.ts";

interface OffloadFlags extends ClusterFlags, OffloadingFlags {
  readonly namespace?: string;
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
      new Option("--pods <where>", "where its pods may run (at first: Both)").choices(["Local", "Remote", "Both"]),
    )
    .addOption(
      new Option("--naming <strategy>", "what the twins are called (at first: Suffixed); it stays").choices([
        "Suffixed",
        "Same",
        "Chosen",
      ]),
    )
    .option("--twin-name <name>", "the twins' name, with --naming Chosen")
    .option(
      "--selector <label=value>",
      "only virtual nodes with this label; several times, or several with commas; `none` takes it back",
      several,
      [],
    )
    .option(
      "--when-unreachable <action>",
      "Keep, or Evict, or Evict=30s: what becomes of pods at a site that is away (at first: Evict)",
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
  // What makes no sense by itself is told before anybody is asked.
  checked(flags);
  await using client = await connect(flags, context);
  await tellOfSilence(client, context);
  const key = { name: OFFLOADING_NAME, namespace };
  const what = `the offloading of namespace ${namespace}`;
  const told = (progress: string) => note(`${progress}\n`);
  const places = await placesAsFarAsMay(client, signal);
  const detail = (found: Offloading) => twinsLeft(found, places);
  let applied: Offloading;
  do {
    await afterRemoval(client, Offloading, key, { signal, timeoutMs, what, told, detail });
    applied = await createOrChange(client, namespace, flags, signal);
  } while (isBeingDeleted(applied));
  if (flags.wait) {
    const waiting = { signal, timeoutMs, told, clock: context.clock };
    const { silent, nowhere } = await twinsMade(client, namespace, places, waiting);
    for (const site of silent) warn(`${site} does not answer: its twin follows when it answers again\n`);
    if (nowhere !== undefined) warn(`it extends to no site yet: ${nowhere}\n`);
  }
  print(`namespace ${namespace} offloaded\n`);
}

/** Agents hear of a node and of an Offloading one after the other: that no site is meant is believed when it stays so. */
const NOWHERE_FOR_MS = 2_000;

/** Waits until every site that answers has its twin. */
async function twinsMade(
  client: KubeClient,
  namespace: string,
  places: Pick<KnownPlaces, "sites" | "peerings">,
  { clock, ...waiting }: Omit<WaitOptions, "what"> & Pick<CommandContext, "clock">,
): Promise<Pick<TwinsReady, "silent" | "nowhere">> {
  let twins: Pick<TwinsReady, "silent" | "nowhere"> = { silent: [] };
  const look = async (found: Offloading | undefined, signal: AbortSignal): Promise<Progress> => {
    if (found === undefined || isBeingDeleted(found))
      throw new WishWithdrawn({ what: `the offloading of namespace ${namespace}` });
    const isTold = getCondition(found.status?.conditions, "Ready") !== undefined;
    const sites = isTold ? await listOrExplain(client, Site, signal) : places.sites;
    // Who may not look at sites does not see peerings either.
    const seen = twinsReady(found, { sites, ...(places.sites.length > 0 && { peerings: places.peerings }) });
    if (seen.isNameRefused) throw new TwinNameRefused({ namespace, reason: seen.progress });
    twins = seen;
    return seen.done ? { done: true } : { done: false, progress: seen.progress };
  };
  // Its twins may all be there, and be told of by nobody.
  const what = `the offloading of namespace ${namespace} was not confirmed`;
  const made = () => waitFor(client, Offloading, { name: OFFLOADING_NAME, namespace }, look, { ...waiting, what });
  await made();
  if (twins.nowhere === undefined || places.peerings.length === 0) return twins;
  await sleep(clock, NOWHERE_FOR_MS, waiting.signal);
  waiting.signal.throwIfAborted();
  await made();
  return twins;
}

/** Asking again changes what is named, and nothing else. What a rule has made is the rule's. */
async function createOrChange(
  client: KubeClient,
  namespace: string,
  flags: OffloadFlags,
  signal: AbortSignal,
): Promise<Offloading> {
  const key = { name: OFFLOADING_NAME, namespace };
  const writing = { fieldManager: "fjord-cli", signal };
  const found = await offloadingOf(client, namespace, signal);
  if (found === undefined || found.metadata.labels?.[OFFLOADING_RULE_LABEL] !== undefined) {
    const rule = await ruleOfNamespace(client, namespace, signal);
    if (rule !== undefined) throw new RuleDecides({ namespace, rule });
  }
  try {
    if (found !== undefined)
      return await client.patch(Offloading, key, "merge", { spec: changeOf(flags, found.spec, namespace) }, writing);
    const object = newObject(Offloading, { metadata: key, spec: firstSpec(flags) });
    return await client.create(Offloading, object, writing);
  } catch (error) {
    // Somebody else was faster.
    if (found === undefined ? isAlreadyExists(error) : isNotFound(error))
      return await createOrChange(client, namespace, flags, signal);
    if (isNotFound(error)) await namespaceMissing(client, namespace, signal);
    throw error;
  }
}

/** There is nothing to extend where there is no namespace, or no Fjord. */
async function namespaceMissing(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  await listOrExplain(client, Offloading, signal);
  const names = (await listOrExplain(client, Namespace, signal)).map(({ metadata }) => metadata.name ?? "");
  if (names.includes(namespace)) return;
  const hint = `${didYouMean(namespace, names)}; \`kubectl create namespace ${namespace}\` makes one`;
  throw new NoSuchThing({ what: "namespace", name: namespace, hint });
}
