import { newObject, OFFLOADING_NAME, Offloading } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { type Command, Option } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { waitFor } from "../command-line/wait-for.ts";
import { InvalidValue } from "../errors.ts";

interface OffloadFlags extends ClusterFlags {
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
    .argument("<namespace>", "the namespace");
  clusterOptions(command)
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
    .action((namespace: string, flags: OffloadFlags) => offload(namespace, flags, context));
}

async function offload(namespace: string, flags: OffloadFlags, context: CommandContext): Promise<void> {
  const { signal, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
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
  await client.apply(Offloading, object, { fieldManager: "fjord-cli", force: true, signal });
  if (flags.wait) {
    const what = `namespace ${namespace} had no twin`;
    const look = (found: Offloading | undefined) => {
      const ready = getCondition(found?.status?.conditions, "Ready");
      const isCurrent = ready?.observedGeneration === found?.metadata.generation;
      if (ready?.status === "True" && isCurrent) return { done: true } as const;
      return {
        done: false,
        progress: ready === undefined ? "waiting for the agent" : `${ready.reason}: ${ready.message}`,
      } as const;
    };
    const told = (progress: string) => note(`${progress}\n`);
    await waitFor(client, Offloading, { name: OFFLOADING_NAME, namespace }, look, { signal, timeoutMs, what, told });
  }
  print(`namespace ${namespace} offloaded\n`);
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
