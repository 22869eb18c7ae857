import { KubeClient, loadClusterConfig } from "@fjord/kube";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";

/** Which cluster is meant, in kubectl's words. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function clusterOptions(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "kubeconfig to use (default: as kubectl does)")
    .option("--context <name>", "context of the kubeconfig");
}

/** A client of the cluster that the flags name. */
export async function connect(flags: ClusterFlags, { env, home, clock, logger }: CommandContext): Promise<KubeClient> {
  const config = await loadClusterConfig({
    env,
    home,
    clock,
    logger,
    ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    ...(flags.context !== undefined && { context: flags.context }),
  });
  return new KubeClient(config, { closeGraceMs: 1_000 });
}
