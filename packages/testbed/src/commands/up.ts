import { systemClock } from "@fjord/base";
import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
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
} from "../binaries/index.ts";
import { BedBusyError, BedDiffersError } from "../errors.ts";
import { removeBed } from "../leftovers.ts";
import { networkServes } from "../network/network-process.ts";
import { openBed } from "../open-bed.ts";
import { isAlive } from "../process-identity.ts";
import { Registry } from "../registry.ts";
import { type BedOptions, startBed } from "../start-bed.ts";
import { type BedState, readState } from "../state.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { parseCount } from "./quantities.ts";
import { bedStatus, describeSites } from "./status.ts";

interface UpOptions extends CommonOptions {
  sites: number;
  overlap: boolean;
  kubernetes?: KubernetesMinor[];
  nodes: number;
  simulatedNodes: number;
  timeout: number;
}

export function addUp(program: Command, context: CommandContext): void {
  program
    .command("up")
    .description("start sites and return once all are ready; they run until `down`")
    .option("-n, --sites <count>", "how many sites", parseCount(1), 1)
    .option("--overlap", "give every site the same pod and service ranges", false)
    .option(
      "--kubernetes <minor>",
      minorDescription("several times: the sites take them in turn", DEFAULT_MINOR),
      collectMinor,
    )
    .option("--nodes <count>", "real nodes for each site (needs root)", parseCount(0), 0)
    .option("--simulated-nodes <count>", "nodes for each site that kwok plays: no container runs", parseCount(0), 0)
    .option("--timeout <seconds>", "how long the sites may take to be ready", parseCount(1), 120)
    .action(async (_, command: Command) => up(command.optsWithGlobals<UpOptions>(), context));
}

export function minorDescription(more: string, otherwise: string): string {
  return `${KUBERNETES_MINORS.join(" or ")}; ${more} (default: ${otherwise})`;
}

export function collectMinor(text: string, minors: KubernetesMinor[] = []): KubernetesMinor[] {
  if (isKubernetesMinor(text)) return [...minors, text];
  throw new InvalidArgumentError(`It must be ${KUBERNETES_MINORS.join(" or ")}.`);
}

async function up(options: UpOptions, context: CommandContext): Promise<void> {
  const registry = new Registry();
  const found = readState(options.directory);
  if (found !== undefined && (await isToStay(found, registry, context))) {
    return report(await resume(found, options, registry, context), "The test bed is up already", context);
  }
  const kubernetes = options.kubernetes ?? [DEFAULT_MINOR];
  const sets: BinarySet[] = ["control-plane"];
  if (options.nodes > 0) sets.push("nodes");
  if (options.simulatedNodes > 0) sets.push("kwok");
  const { env, signal, log } = context;
  const progress = (event: Parameters<typeof describeProgress>[0]) => context.progress(describeProgress(event));
  const binaries = await ensureBinaries({ minors: kubernetes, sets, env, progress, signal });
  context.progress(`Starting ${options.sites} site(s) in ${options.directory}`);
  const began = systemClock.now();
  const nodes = options.nodes > 0 ? await nodesOf(options.nodes, binaries, context) : undefined;
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
  await report(bed, `Ready after ${((systemClock.now() - began) / 1000).toFixed(1)} s`, context);
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
async function resume(state: BedState, options: UpOptions, registry: Registry, context: CommandContext): Promise<Bed> {
  const { directory } = state;
  const [running, asked] = [describeBed(state), describeAsked(options)];
  if (running !== asked) throw new BedDiffersError({ directory, running, asked });
  const bed = await openBed(directory, { registry, log: context.log });
  const limits = { timeout: options.timeout * 1000, signal: context.signal };
  for (const process of bed.processes.filter(({ running }) => !running)) {
    context.progress(`Starting ${process.name} ${process.record.site} again`);
    await process.start();
  }
  await Promise.all(bed.sites.map((site) => site.start(limits)));
  await networkServes(bed.process("network"), state, { ...limits, clock: systemClock });
  return bed;
}

function describeBed({ sites, processes }: BedState): string {
  const kubelets = processes.filter(({ name }) => name.endsWith("-kubelet"));
  return describe({
    sites: sites.length,
    nodes: kubelets.length / sites.length,
    overlap: sites.length > 1 && sites[0]?.podCidr === sites[1]?.podCidr,
    kubernetes: sites.map(({ kubernetes }) => kubernetes),
  });
}

function describeAsked({ sites, nodes, overlap, kubernetes: minors = [DEFAULT_MINOR] }: UpOptions): string {
  return describe({
    sites,
    nodes,
    overlap: overlap && sites > 1,
    kubernetes: Array.from({ length: sites }, (_, i) => minors[i % minors.length] as KubernetesMinor),
  });
}

interface Described {
  sites: number;
  nodes: number;
  overlap: boolean;
  kubernetes: readonly KubernetesMinor[];
}

function describe({ sites, nodes, overlap, kubernetes }: Described): string {
  const minors = [...new Set(kubernetes)].join(", ");
  const features = [nodes > 0 && `${nodes} real nodes each`, overlap && "equal ranges"].filter(
    (each) => each !== false,
  );
  const more = features.length === 0 ? "" : ` with ${features.join(" and ")}`;
  return `${sites} ${sites === 1 ? "site" : "sites"} of ${minors}${more}`;
}

/** Loaded on demand: sites without nodes have no use for it. */
async function nodesOf(
  count: number,
  binaries: Binaries,
  { env, log, signal, progress }: CommandContext,
): Promise<NonNullable<BedOptions["nodes"]>> {
  const tools = await ensureNodePackages({ env, signal, progress: (event) => progress(describeProgress(event)) });
  const { RealNodes } = await import("../nodes/index.ts");
  return { count, provider: new RealNodes({ binaries, tools, log }) };
}

async function report(bed: Bed, message: string, context: CommandContext): Promise<void> {
  const { sites } = await bedStatus(bed);
  context.progress(message);
  context.out(describeSites(sites));
  context.progress(`\nTry: kubectl --kubeconfig ${sites[0]?.kubeconfig} get namespaces`);
}
