import type { KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";

/** How the other site is reached, by who may look there too. */
export interface PeerFlags {
  readonly peerContext?: string;
  readonly peerKubeconfig?: string;
}

export function peerOptions(command: Command): Command {
  return command
    .option("--peer-context <name>", "context of the other site, to see what it knows too")
    .option("--peer-kubeconfig <file>", "kubeconfig of the other site (default: the same)");
}

/** A client of the other site; undefined where nobody has said how it is reached. */
export async function peerClient(
  { peerContext, peerKubeconfig, kubeconfig: own }: PeerFlags & ClusterFlags,
  context: CommandContext,
): Promise<KubeClient | undefined> {
  if (peerContext === undefined && peerKubeconfig === undefined) return undefined;
  const kubeconfig = peerKubeconfig ?? own;
  return await connect(
    { ...(kubeconfig !== undefined && { kubeconfig }), ...(peerContext !== undefined && { context: peerContext }) },
    context,
  );
}
