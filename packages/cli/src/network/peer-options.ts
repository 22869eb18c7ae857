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

/** How other sites are reached, where there may be several. */
export interface PeersFlags {
  readonly peerContext: readonly string[];
  readonly peerKubeconfig?: string;
}

export function peersOptions(command: Command): Command {
  return command
    .option(
      "--peer-context <name>",
      "context of another site, to see what it knows too; several times, or several with commas",
      (value: string, before: string[]) => [...before, ...value.split(",")],
      [],
    )
    .option("--peer-kubeconfig <file>", "kubeconfig of these sites (default: the same)");
}

/** Clients of all sites that were named. */
export async function peerClients(
  { peerContext, ...flags }: PeersFlags & ClusterFlags,
  context: CommandContext,
): Promise<AsyncDisposable & { readonly clients: readonly KubeClient[] }> {
  const named = peerContext.length === 0 ? [{}] : peerContext.map((name) => ({ peerContext: name }));
  const clients = (await Promise.all(named.map((each) => peerClient({ ...flags, ...each }, context)))).filter(
    (client) => client !== undefined,
  );
  return {
    clients,
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
    },
  };
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
