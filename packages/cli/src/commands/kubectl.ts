import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AGENT_NAMESPACE, Offloading, Site } from "@fjord/api";
import { describeError, didYouMean } from "@fjord/base";
import { KeyStore, PeerTls } from "@fjord/continuum/identity";
import { clusterConfig, type KubeClient, kubeconfigOf, readKubeconfigs } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { kubeconfigFiles } from "../command-line/kubeconfig-files.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { runProgram } from "../command-line/run-program.ts";
import { DialsOutOnly, NoSuchThing, NoWayToSite } from "../errors.ts";
import { kubectlProgram } from "../kubectl/kubectl-program.ts";
import { ownOptions } from "../kubectl/own-options.ts";
import { SiteBridge } from "../kubectl/site-bridge.ts";
import { idOf } from "../place/known-places.ts";

interface KubectlFlags extends ClusterFlags {
  readonly agentNamespace: string;
}

/** Where a site serves its Kubernetes API to others. */
const KUBE_PREFIX = "/kube";

export function addKubectl(program: Command, context: CommandContext): void {
  const command = program
    .enablePositionalOptions()
    .command("kubectl")
    .description("run kubectl at a site: by the context of its name, or through the contract with it")
    .argument("<site>", "the own site, one that it is peered with, or a context of the kubeconfig")
    .argument("[words...]", "what kubectl is asked for, as in: fjord kubectl lively-wave -- get pods -n shop");
  clusterOptions(command)
    .option("--agent-namespace <name>", "namespace of the agent", AGENT_NAMESPACE)
    .passThroughOptions()
    .action((site: string, words: readonly string[], flags: KubectlFlags) => {
      const { own, rest } = ownOptions(words);
      return kubectl(site, rest, { ...flags, ...own }, context);
    });
}

async function kubectl(
  site: string,
  words: readonly string[],
  flags: KubectlFlags,
  context: CommandContext,
): Promise<void> {
  const file = kubectlProgram(context);
  const files = kubeconfigFiles(flags.kubeconfig, context);
  const run = async (...args: readonly string[]) => context.setExitCode(await runProgram(spawn, file, args, context));
  const named = flags.kubeconfig === undefined ? [] : [`--kubeconfig=${flags.kubeconfig}`];
  const { contexts } = await readKubeconfigs(files, { ignoreMissing: true });
  if (contexts.has(site)) return await run(...named, `--context=${site}`, ...words);
  await using client = await connect(flags, context);
  const found = await siteCalled(client, site, [...contexts.keys()], context.signal);
  if (found.status?.role === "Self")
    return await run(...named, ...(flags.context === undefined ? [] : [`--context=${flags.context}`]), ...words);
  await using bridge = await bridgeTo(client, found, flags, context);
  const folder = await mkdtemp(join(tmpdir(), "fjord-kubectl-"));
  try {
    const config = clusterConfig({ server: bridge.url });
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, await kubeconfigOf({ ...config, namespace: client.namespace }, site), { mode: 0o600 });
    await run(`--kubeconfig=${kubeconfig}`, ...words);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function siteCalled(
  client: KubeClient,
  name: string,
  contexts: readonly string[],
  signal: AbortSignal,
): Promise<Site> {
  const sites = await listOrExplain(client, Site, signal);
  const found = sites.find(({ metadata }) => metadata.name === name);
  if (found !== undefined) return found;
  const names = [...sites.map(({ metadata }) => metadata.name ?? ""), ...contexts];
  throw new NoSuchThing({ what: "site, nor a context of the kubeconfig, called", name, hint: didYouMean(name, names) });
}

/** Speaks to the other site as this one does: with its key, under its contracts. */
async function bridgeTo(
  client: KubeClient,
  site: Site,
  flags: KubectlFlags,
  context: CommandContext,
): Promise<SiteBridge> {
  const { signal, clock, logger } = context;
  const name = site.metadata.name ?? "";
  const refuse = (reason: string): never => {
    throw new NoWayToSite({ site: name, reason });
  };
  const endpoints = site.spec.endpoints ?? [];
  const id = idOf(site);
  if (id === undefined) return refuse("nothing is known of it yet but its name");
  if (endpoints.length === 0) throw new DialsOutOnly({ site: name });
  const stored = await KeyStore.read(client, flags.agentNamespace);
  if (stored === undefined)
    return refuse(`this site has no key in namespace ${flags.agentNamespace}: its agent has not run yet`);
  const tls = new PeerTls({ key: stored.key, clock, logger });
  const connectTo = async () => {
    const failures: string[] = [];
    for (const endpoint of endpoints) {
      try {
        return await tls.connect(endpoint, id, { signal });
      } catch (error) {
        failures.push(`${endpoint}: ${describeError(error)}`);
      }
    }
    return refuse(failures.join("; "));
  };
  // Asked once before kubectl is: its own words for a server that is away help nobody.
  (await connectTo()).destroy();
  const offloadings = await listOrExplain(client, Offloading, signal);
  const twins = offloadings.flatMap(({ metadata, status }) => {
    const twin = status?.sites?.find((each) => each.site === id)?.twin;
    return twin === undefined ? [] : [[metadata.namespace ?? "", twin] as const];
  });
  return SiteBridge.open({ site: name, connect: connectTo, prefix: KUBE_PREFIX, home: client, twins: new Map(twins) });
}
