import { OFFLOADING_NAME, Offloading } from "@fjord/api";
import { isNotFound } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { namespaceOf } from "../command-line/namespace-option.ts";
import { waitFor } from "../command-line/wait-for.ts";

interface UnoffloadFlags extends ClusterFlags {
  readonly namespace?: string;
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
  try {
    await client.delete(Offloading, key, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return print(`namespace ${namespace} was not offloaded\n`);
  }
  if (flags.wait) {
    const look = (found: Offloading | undefined) => {
      if (found === undefined) return { done: true } as const;
      const left = (found.status?.sites ?? []).map(({ twin }) => twin ?? "a twin");
      return { done: false, progress: `waiting for ${left.join(", ") || "its pods"} to end` } as const;
    };
    const what = `namespace ${namespace} was not home`;
    await waitFor(client, Offloading, key, look, {
      signal,
      timeoutMs,
      what,
      told: (progress) => note(`${progress}\n`),
    });
  }
  print(`namespace ${namespace} is home\n`);
}
