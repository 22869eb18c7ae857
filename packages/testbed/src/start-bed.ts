import { mkdir, readdir, readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { resolve } from "node:path";
import { type Clock, type Logger, type Random, silentLogger, systemClock } from "@fjord/base";
import { Bed } from "./bed.ts";
import { freeNodeSubnets, freeRanges, planSites, portsPerSite } from "./bed-plan.ts";
import type { Binaries } from "./binaries/find.ts";
import { DEFAULT_MINOR, type Substrate } from "./binaries/versions.ts";
import { Claims } from "./claims.ts";
import { BedRemovedError, DirectoryInUseError, SiteCountError } from "./errors.ts";
import { bedEnvironment, reapLeftovers, removeBed } from "./leftovers.ts";
import type { ManagedProcess } from "./managed-process.ts";
import { openBedNetwork, writePathKubeconfigs } from "./network/bed-network.ts";
import type { NetworkControl } from "./network/network.ts";
import { networkProcess, networkServes } from "./network/network-process.ts";
import type { NodeProvider } from "./node-provider.ts";
import { TooManyNodesError } from "./nodes/errors.ts";
import { maxNodes } from "./nodes/network-plan.ts";
import { freePorts } from "./ports.ts";
import { identify, isAlive } from "./process-identity.ts";
import { Registry } from "./registry.ts";
import { Site, type StartOptions } from "./site.ts";
import { type IpFamilies, maxSites, type SiteComponents, type SiteLayout } from "./site-layout.ts";
import { StateFile } from "./state.ts";
import { waitFor } from "./wait.ts";

export interface BedOptions {
  /** How many, or what they are called. @default 1 */
  sites?: number | readonly string[];
  /** Every site has the same pod and service ranges. @default false */
  overlap?: boolean;
  /** What addresses pods and Services of real nodes have. @default "ipv4" */
  families?: IpFamilies;
  /** One for all sites, or several that the sites take in turn. @default the newest Kubernetes */
  kubernetes?: Substrate | readonly Substrate[];
  /** @default "all" */
  components?: SiteComponents;
  /** Where everything is kept; new or empty. @default a temporary one */
  directory?: string;
  /** The bed stays when this process ends. @default false */
  detached?: boolean;
  /** Real nodes for each site, or for those that are named. */
  nodes?: { count: number; provider: NodeProvider; sites?: readonly string[] };
  /** Nodes for each site on which no container runs. */
  simulatedNodes?: number;
  /** Who plays them; "kwok" needs its binaries, and is there to measure with. @default "fjord" */
  simulator?: "fjord" | "kwok";
  /** Those that have them. @default all */
  simulatedSites?: readonly string[];
  binaries: Binaries;
  /** A `setpriv`, with which the kernel kills the bed's processes when this one ends. */
  setpriv?: string;
  registry?: Registry;
  log?: Logger;
  clock?: Clock;
  random?: Random;
  /** Milliseconds that the sites have to become ready. @default 120 000 */
  timeout?: number;
  /** Aborting ends the start, and removes what was begun. */
  signal?: AbortSignal;
}

/** Starts sites and waits until all are ready. When it fails or is aborted, nothing is left. */
export async function startBed(options: BedOptions): Promise<Bed> {
  const { log = silentLogger, clock = systemClock, random = Math.random } = options;
  const registry = options.registry ?? new Registry();
  await reapLeftovers({ registry, log, clock });
  const id = Math.floor(random() * 2 ** 32)
    .toString(36)
    .padStart(7, "0");
  const runtimeDirectory = registry.runtimeDirectory(id);
  const directory = resolve(options.directory ?? runtimeDirectory);
  const sites = await layOut(id, directory, options, random);
  await claimDirectory(directory);
  const owner = identify(process.pid);
  registry.put({ id, directory, ...(owner && { owner }) });
  try {
    await mkdir(runtimeDirectory, { recursive: true, mode: 0o700 });
    const state = StateFile.create({
      version: 1,
      id,
      directory,
      runtimeDirectory,
      startedAt: new Date(clock.now()).toISOString(),
      ready: false,
      sites,
      simulatedNodes: options.simulatedNodes ?? 0,
      processes: [],
      resources: [],
    });
    const bed = await start(state, { ...options, log, clock, random, registry });
    if (registry.find(id) === undefined) throw new BedRemovedError({ directory });
    if (options.detached) registry.put({ id, directory });
    state.update({ ready: true });
    return bed;
  } catch (error) {
    const removed = await isRemovedByAnother(id, registry, clock);
    await removeBed({ id, directory }, { registry, log, clock });
    log.info("removed what was begun", { directory });
    // What went wrong here was then only that, and would put the reader on a wrong track as a cause.
    throw removed ? new BedRemovedError({ directory }) : error;
  }
}

/** Whether another program has removed the bed. One that is still at it is given the time to end. */
async function isRemovedByAnother(id: string, registry: Registry, clock: Clock): Promise<boolean> {
  const registration = registry.find(id);
  if (registration === undefined) return true;
  const { remover } = registration;
  if (remover === undefined || remover.pid === process.pid) return false;
  await waitFor(() => registry.find(id) === undefined || !isAlive(remover), { clock, timeout: 30_000 });
  return true;
}

type Resolved = BedOptions & Required<Pick<BedOptions, "log" | "clock" | "random" | "registry">>;

async function start(state: StateFile, options: Resolved): Promise<Bed> {
  const { log, clock, registry, signal, timeout = 120_000 } = options;
  const layouts = state.state.sites;
  const environment = bedEnvironment(state.state.id);
  const dieWithParent = options.detached ? undefined : options.setpriv;
  const shared = { environment, clock, ...(dieWithParent && { dieWithParent }) };
  const sites = layouts.map((layout) => new Site(layout, { state, ...shared }));
  for (const site of sites) await prepareSite(site, options);
  await writePathKubeconfigs(layouts);
  const processes = options.detached ? [networkProcess(state, environment, clock)] : [];
  // The first failure ends the others' starting, and all of them have to have ended before the clean-up begins.
  const failed = new AbortController();
  const limits: StartOptions = { timeout, signal: AbortSignal.any(signal ? [signal, failed.signal] : [failed.signal]) };
  const guard = <T>(task: Promise<T>): Promise<T> =>
    task.catch((error: unknown) => {
      failed.abort(error);
      throw error;
    });
  const [network, ...started] = await Promise.allSettled([
    guard(startNetwork(state, processes, options, limits)),
    ...sites.map((site) => guard(startSite(site, options, limits))),
  ]);
  if (network.status === "rejected") throw failed.signal.reason;
  if (started.some(({ status }) => status === "rejected")) {
    await network.value.close();
    throw failed.signal.reason;
  }
  return new Bed({ sites, processes, network: network.value, state, registry, log });
}

async function prepareSite(site: Site, options: Resolved): Promise<void> {
  options.signal?.throwIfAborted();
  await site.prepare(options.binaries);
  await options.nodes?.provider.prepare(site);
}

async function startSite(site: Site, options: Resolved, limits: StartOptions): Promise<void> {
  const { nodes, simulatedNodes = 0, binaries, log, clock } = options;
  const began = clock.now();
  await site.start(limits);
  if (nodes && (nodes.sites?.includes(site.name) ?? true)) await nodes.provider.start(site, nodes.count, limits);
  if (simulatedNodes > 0 && (options.simulatedSites?.includes(site.name) ?? true)) {
    // Loaded on demand: they bring a client along that starting sites has no use for.
    if (options.simulator === "kwok") {
      const { startKwokNodes } = await import("./kwok-nodes.ts");
      await startKwokNodes(site, simulatedNodes, binaries, { ...limits, clock });
    } else {
      const { startSimulatedNodes } = await import("./simulated-nodes.ts");
      await startSimulatedNodes(site, simulatedNodes, { ...limits, clock });
    }
  }
  log.info("site ready", { site: site.name, seconds: (clock.now() - began) / 1000, server: site.config.server });
}

/** In this process, or in one of its own for a bed that stays. */
async function startNetwork(
  state: StateFile,
  [process]: readonly ManagedProcess[],
  { clock, random }: Resolved,
  limits: StartOptions,
): Promise<NetworkControl> {
  if (process === undefined) return openBedNetwork(state.state.sites, clock, random);
  await process.start();
  return networkServes(process, state.state, { ...limits, clock });
}

async function layOut(id: string, directory: string, options: BedOptions, random: Random): Promise<SiteLayout[]> {
  const names = typeof options.sites === "object" ? options.sites : undefined;
  const sites = names?.length ?? (options.sites as number | undefined) ?? 1;
  if (!Number.isInteger(sites) || sites < 1 || sites > maxSites) throw new SiteCountError({ sites, maxSites });
  const count = options.nodes?.count ?? 0;
  if (count > maxNodes) throw new TooManyNodesError({ site: "each site", count, max: maxNodes });
  const hostAddresses = Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address }) => address),
  );
  return planSites({
    id,
    directory,
    sites,
    ...(names && { names }),
    overlap: options.overlap ?? false,
    ...(options.families && { families: options.families }),
    kubernetes: [options.kubernetes ?? DEFAULT_MINOR].flat(),
    components: options.components ?? "all",
    ports: await freePorts(sites * portsPerSite, "127.0.0.1", random),
    nodeSubnets: options.nodes ? nodeSubnets(sites, hostAddresses, random) : [],
    ...(options.nodes && { firstRange: await firstRange(sites) }),
  });
}

function nodeSubnets(sites: number, hostAddresses: readonly string[], random: Random): number[] {
  const claims = new Claims();
  const first = Math.floor(random() * 256);
  return freeNodeSubnets(sites, hostAddresses, first, (subnet) => claims.take(`subnet-${subnet}`));
}

async function firstRange(sites: number): Promise<number> {
  const claims = new Claims();
  const routes = await readFile("/proc/net/route", "utf8");
  return freeRanges(sites, routes, 1, (podCidr) => claims.take(`pods-${podCidr.replaceAll(/\W/g, "-")}`));
}

async function claimDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if ((await readdir(directory)).length > 0) throw new DirectoryInUseError({ directory });
}
