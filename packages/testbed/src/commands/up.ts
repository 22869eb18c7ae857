import { systemClock } from "@fjord/base";
import type { Command } from "commander";
import { InvalidArgumentError, Option } from "commander";
import type { Bed } from "../bed.ts";
import {
  type Binaries,
  type BinarySet,
  DEFAULT_MINOR,
  describeProgress,
  ensureBinaries,
  ensureNodePackages,
  isKubernetesMinor,
  KUBERNETES_MINORS,
  type KubernetesMinor,
  minorsOf,
  nodeMinorsOf,
  type Substrate,
} from "../binaries/index.ts";
import { BedBusyError, BedDiffersError, MetricsWithoutNodesError, RootNeededError } from "../errors.ts";
import { removeBed } from "../leftovers.ts";
import { kubelets } from "../nodes/kubelet-command.ts";
import { maxNodes } from "../nodes/network-plan.ts";
import { withWholeNodes } from "../nodes/node-processes.ts";
import { openBed } from "../open-bed.ts";
import { isAlive } from "../process-identity.ts";
import { Registry } from "../registry.ts";
import type { Site } from "../site.ts";
import { maxSites } from "../site-layout.ts";
import { type BedOptions, startBed } from "../start-bed.ts";
import { type BedState, readState } from "../state.ts";
import { type BedMake, describeAsked, describeBed, plural } from "./bed-description.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { removeEmptyParent } from "./down.ts";
import { parseCount } from "./quantities.ts";
import { label, refusePaused, startAgain } from "./start-again.ts";
import { bedStatus, describeSites } from "./status.ts";

interface UpOptions extends CommonOptions, BedMake {
  timeout: number;
  metricsServer: boolean;
}

export function addUp(program: Command, context: CommandContext): void {
  program
    .command("up")
    .description("start sites and return once all are ready; they run until `down`")
    .option("-n, --sites <count>", "how many sites", parseCount(1, maxSites), 1)
    .option("--overlap", "give every site the same pod and service ranges", false)
    .addOption(substrateOption("several times: the sites take them in turn", DEFAULT_MINOR))
    .option("--nodes <count>", "real nodes for each site (needs root)", parseCount(0, maxNodes), 0)
    .addOption(
      new Option(
        "--kubelet <name>",
        "what runs the pods of real nodes (default: kubernetes, or on microkube fjord)",
      ).choices(kubelets),
    )
    .option("--simulated-nodes <count>", "nodes for each site that are simulated: no container runs", parseCount(0), 0)
    .option("--metrics-server", "the real metrics-server for each site with real nodes: `kubectl top` works", false)
    .option("--timeout <seconds>", "how long the sites may take to be ready", parseCount(1), 120)
    .action(async (_, command: Command) => {
      const options = command.optsWithGlobals<UpOptions>();
      try {
        await up(options, context);
      } catch (error) {
        removeEmptyParent(options.directory, context);
        throw error;
      }
    });
}

/** A minor that may be given several times. */
export function minorOption(more: string, otherwise: string): Option {
  return new Option("--kubernetes <minor>", `${more} (default: ${otherwise})`)
    .choices(KUBERNETES_MINORS)
    .argParser(collectMinor);
}

function collectMinor(text: string, minors: KubernetesMinor[] = []): KubernetesMinor[] {
  if (isKubernetesMinor(text)) return [...minors, text];
  throw new InvalidArgumentError(`It must be ${KUBERNETES_MINORS.join(" or ")}.`);
}

/** What sites run, taken in turn. */
function substrateOption(more: string, otherwise: string): Option {
  const choices = [...KUBERNETES_MINORS, "microkube"];
  return new Option("--kubernetes <minor>", `${more} (default: ${otherwise})`)
    .choices(choices)
    .argParser((text: string, before: Substrate[] = []): Substrate[] => {
      if (text === "microkube" || isKubernetesMinor(text)) return [...before, text];
      throw new InvalidArgumentError(`It must be ${choices.join(" or ")}.`);
    });
}

async function up(options: UpOptions, context: CommandContext): Promise<void> {
  // Said before anything is fetched or built.
  if (options.nodes > 0 && context.uid !== 0)
    throw new RootNeededError({ action: `start ${plural(options.nodes, "node")}` });
  if (options.metricsServer && options.nodes === 0) throw new MetricsWithoutNodesError({});
  const registry = new Registry();
  const found = readState(options.directory);
  if (found !== undefined && (await isToStay(found, registry, context))) {
    return resume(found, options, registry, context);
  }
  const kubernetes = options.kubernetes ?? [DEFAULT_MINOR];
  const { signal, log } = context;
  const binaries = await programsFor(options, context);
  context.progress(`Starting ${plural(options.sites, "site")} in ${options.directory}`);
  const began = systemClock.now();
  const nodes = options.nodes > 0 ? await nodesOf(options, binaries, context) : undefined;
  const bed = await startBed({
    sites: options.sites,
    overlap: options.overlap,
    kubernetes,
    directory: options.directory,
    detached: true,
    binaries,
    registry,
    log,
    signal,
    timeout: options.timeout * 1000,
    simulatedNodes: options.simulatedNodes,
    ...(nodes && { nodes }),
  });
  if (options.metricsServer) await startMetricsServers(bed, binaries, options, context);
  await report(bed, `Ready after ${((systemClock.now() - began) / 1000).toFixed(1)} s`, context);
}

function programsFor(options: UpOptions, context: CommandContext): Promise<Binaries> {
  const { kubernetes = [DEFAULT_MINOR], nodes, metricsServer } = options;
  const sets: BinarySet[] = ["control-plane"];
  if (nodes > 0) sets.push("nodes");
  if (metricsServer) sets.push("metrics-server");
  const { env, signal } = context;
  const progress = (event: Parameters<typeof describeProgress>[0]) => context.progress(describeProgress(event));
  const minors = nodes > 0 ? nodeMinorsOf(kubernetes) : minorsOf(kubernetes);
  return ensureBinaries({ minors, sets, env, progress, signal });
}

/** Whether a bed found in the directory is one to go on with. What is left of one that no longer runs is removed. */
async function isToStay(state: BedState, registry: Registry, { log, progress }: CommandContext): Promise<boolean> {
  const { directory, id } = state;
  const owner = registry.list().find((registration) => registration.id === id)?.owner;
  if (owner !== undefined && isAlive(owner)) throw new BedBusyError({ directory, pid: owner.pid });
  if (state.ready && state.processes.some(({ identity }) => identity !== undefined && isAlive(identity))) return true;
  progress(`Removing what is left of a test bed in ${directory} that no longer runs`);
  await removeBed({ id, directory }, { registry, log });
  return false;
}

/** Starts what of a bed has ended since. */
async function resume(state: BedState, options: UpOptions, registry: Registry, context: CommandContext): Promise<void> {
  const { directory } = state;
  const [running, asked] = [describeBed(state), describeAsked(options)];
  if (running !== asked) throw new BedDiffersError({ directory, running, asked });
  const bed = await openBed(directory, { registry, log: context.log });
  refusePaused(bed.processes);
  const ended = withWholeNodes(
    bed.processes.filter(({ running }) => !running),
    bed.processes,
  );
  for (const process of ended.toReversed()) await process.stop();
  for (const process of ended) context.progress(`Starting ${label(process)} again`);
  const limits = { timeout: options.timeout * 1000, signal: context.signal };
  await startAgain(bed, ended, limits);
  await Promise.all(bed.sites.map((site) => site.ready(limits)));
  if (options.metricsServer && !bed.sites.every(hasMetricsServer))
    await startMetricsServers(bed, await programsFor(options, context), options, context);
  await report(bed, `The test bed is up ${ended.length === 0 ? "already" : "again"}`, context);
}

function hasMetricsServer({ processes }: Site): boolean {
  return processes.some(({ name }) => name === "metrics-server");
}

/** For the sites that have none. It waits for metrics of a node, which takes about 12 s after the node is there. */
async function startMetricsServers(
  bed: Bed,
  binaries: Binaries,
  { timeout }: UpOptions,
  { signal, progress }: CommandContext,
): Promise<void> {
  const { startMetricsServer } = await import("../nodes/metrics-server.ts");
  const sites = bed.sites.filter((site) => !hasMetricsServer(site));
  progress(`Starting metrics-server for ${plural(sites.length, "site")}`);
  await Promise.all(sites.map((site) => startMetricsServer(site, { binaries, timeout: timeout * 1000, signal })));
}

/** Loaded on demand: sites without nodes have no use for it. */
async function nodesOf(
  { nodes: count, kubelet }: UpOptions,
  binaries: Binaries,
  { env, log, signal, progress }: CommandContext,
): Promise<NonNullable<BedOptions["nodes"]>> {
  const tools = await ensureNodePackages({ env, signal, progress: (event) => progress(describeProgress(event)) });
  const { RealNodes } = await import("../nodes/index.ts");
  return { count, provider: new RealNodes({ binaries, tools, ...(kubelet && { kubelet }), log }) };
}

async function report(bed: Bed, message: string, context: CommandContext): Promise<void> {
  const { sites } = await bedStatus(bed);
  context.progress(message);
  context.out(describeSites(sites));
  context.progress(`\nTry: kubectl --kubeconfig ${sites[0]?.kubeconfig} get namespaces`);
}
