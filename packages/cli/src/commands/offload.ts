import { isKeptNamespace, newObject, OFFLOADING_NAME, Offloading, Site } from "@fjord/api";
import { getCondition, isNotFound, type KubeClient, Namespace } from "@fjord/kube";
import { type Command, Option } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { namespaceOf } from "../command-line/namespace-option.ts";
import { didYouMean } from "../command-line/suggestion.ts";
import { type Progress, waitFor } from "../command-line/wait-for.ts";
import { InvalidValue, KeptNamespace, NoSuchThing } from "../errors.ts";

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
  const { signal, print, note } = context;
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
  await applyTo(client, object, namespace, signal);
  if (flags.wait) {
    const what = `namespace ${namespace} had no twin`;
    const sites = await listOrExplain(client, Site, signal);
    const look = (found: Offloading | undefined) => {
      const ready = getCondition(found?.status?.conditions, "Ready");
      const isCurrent = ready?.observedGeneration === found?.metadata.generation;
      if (ready?.status === "True" && isCurrent) return { done: true } as const;
      return howFar(found, isCurrent, sites);
    };
    const told = (progress: string) => note(`${progress}\n`);
    await waitFor(client, Offloading, { name: OFFLOADING_NAME, namespace }, look, { signal, timeoutMs, what, told });
  }
  print(`namespace ${namespace} offloaded\n`);
}

/** There is nothing to extend where there is no namespace, or no Fjord. */
async function applyTo(client: KubeClient, object: Offloading, namespace: string, signal: AbortSignal): Promise<void> {
  try {
    await client.apply(Offloading, object, { fieldManager: "fjord-cli", force: true, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await listOrExplain(client, Offloading, signal);
    const names = (await listOrExplain(client, Namespace, signal)).map(({ metadata }) => metadata.name ?? "");
    if (names.includes(namespace)) throw error;
    throw new NoSuchThing({ what: "namespace", name: namespace, hint: didYouMean(namespace, names) });
  }
}

/** Answers that stay what they are until somebody changes something. */
const REFUSALS = ["NameTaken", "NameRefused"];

/** What keeps the twins from being ready, site by site. */
function howFar(found: Offloading | undefined, isCurrent: boolean, sites: readonly Site[]): Progress {
  const ready = getCondition(found?.status?.conditions, "Ready");
  if (ready === undefined || !isCurrent) return { done: false, progress: "waiting for the agent" };
  const nameOf = (id: string) => sites.find(({ spec, status }) => (status?.id ?? spec.id) === id)?.metadata.name ?? id;
  const waiting = (found?.status?.sites ?? []).flatMap(({ site, conditions }) => {
    const condition = getCondition(conditions, "Ready");
    return condition === undefined || condition.status === "True" ? [] : [{ site: nameOf(site), ...condition }];
  });
  const reasons = waiting.map(({ site, reason, message }) => `${site}: ${reason}: ${message}`);
  const progress = reasons.join("; ") || `${ready.reason}: ${ready.message}`;
  return { done: false, progress, refused: waiting.some(({ reason }) => REFUSALS.includes(reason)) };
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
