import { mkdir, readdir } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { resolve } from "node:path";
import { type Clock, type Logger, type Random, silentLogger, systemClock } from "@fjord/base";
import { freeNodeSubnets, planSites, portsPerSite } from "./bed-plan.ts";
import type { Binaries } from "./binaries/find.ts";
import { DEFAULT_MINOR, type KubernetesMinor } from "./binaries/versions.ts";
import { DirectoryInUseError, NoSuchSiteError, SiteCountError } from "./errors.ts";
import { markVariable, reapLeftovers, removeBed } from "./leftovers.ts";
import type { NodeProvider } from "./node-provider.ts";
import { freePorts } from "./ports.ts";
import { identify } from "./process-identity.ts";
import { Registry } from "./registry.ts";
import { Site, type StartOptions } from "./site.ts";
import { maxSites, type SiteComponents, type SiteLayout } from "./site-layout.ts";
import { StateFile } from "./state.ts";

export interface BedOptions {
  /** How many. @default 1 */
  sites?: number;
  /** Every site has the same pod and service ranges. @default false */
  overlap?: boolean;
  /** One minor for all sites, or several that the sites take in turn. */
  kubernetes?: KubernetesMinor | readonly KubernetesMinor[];
  /** @default "all" */
  components?: SiteComponents;
  /** Where everything is kept; new or empty. @default a temporary one */
  directory?: string;
  /** The bed stays when this process ends. @default false */
  detached?: boolean;
  /** Real nodes for each site. */
  nodes?: { count: number; provider: NodeProvider };
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

/** Several sites on one machine. */
export class Bed {
  readonly sites: readonly Site[];
  readonly #state: StateFile;
  readonly #registry: Registry;
  readonly #log: Logger;
  #stopped: Promise<void> | undefined;

  constructor(sites: readonly Site[], state: StateFile, registry: Registry, log: Logger) {
    this.sites = sites;
    this.#state = state;
    this.#registry = registry;
    this.#log = log;
  }

  get id(): string {
    return this.#state.state.id;
  }

  get directory(): string {
    return this.#state.state.directory;
  }

  site(name: string): Site {
    const site = this.sites.find((candidate) => candidate.name === name);
    if (site === undefined) {
      throw new NoSuchSiteError({ site: name, sites: this.sites.map((each) => each.name).join(", ") });
    }
    return site;
  }

  /** Ends everything and leaves nothing behind. */
  stop(): Promise<void> {
    this.#stopped ??= removeBed(
      { id: this.id, directory: this.directory },
      { registry: this.#registry, log: this.#log },
    );
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
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
  const owner = identify(process.pid);
  await claimDirectory(directory);
  registry.put({ id, directory, ...(owner && { owner }) });
  await mkdir(runtimeDirectory, { recursive: true, mode: 0o700 });
  const layouts = await layOut(id, directory, options, random);
  const state = new StateFile({
    version: 1,
    id,
    directory,
    runtimeDirectory,
    ...(owner && { owner }),
    startedAt: new Date(clock.now()).toISOString(),
    ready: false,
    sites: layouts,
    processes: [],
    resources: [],
  });
  const environment = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", [markVariable]: id };
  const dieWithParent = options.detached ? undefined : options.setpriv;
  const sites = layouts.map(
    (layout) => new Site(layout, { state, environment, clock, ...(dieWithParent && { dieWithParent }) }),
  );
  const bed = new Bed(sites, state, registry, log);
  try {
    await Promise.all(sites.map((site) => startSite(site, options, log, clock)));
    if (options.detached) registry.put({ id, directory });
    state.update({ ready: true, ...(options.detached && { owner: undefined }) });
    return bed;
  } catch (error) {
    await bed.stop();
    throw error;
  }
}

async function startSite(site: Site, options: BedOptions, log: Logger, clock: Clock): Promise<void> {
  const began = clock.now();
  const { timeout = 120_000, signal } = options;
  const limits: StartOptions = { timeout, ...(signal && { signal }) };
  await site.prepare(options.binaries);
  await options.nodes?.provider.prepare(site);
  await site.start(limits);
  if (options.nodes) await options.nodes.provider.start(site, options.nodes.count, limits);
  log.info("site ready", { site: site.name, seconds: (clock.now() - began) / 1000, server: site.config.server });
}

async function claimDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if ((await readdir(directory)).length > 0) throw new DirectoryInUseError({ directory });
}

async function layOut(id: string, directory: string, options: BedOptions, random: Random): Promise<SiteLayout[]> {
  const sites = options.sites ?? 1;
  if (!Number.isInteger(sites) || sites < 1 || sites > maxSites) throw new SiteCountError({ sites, maxSites });
  const hostAddresses = Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address }) => address),
  );
  return planSites({
    id,
    directory,
    sites,
    overlap: options.overlap ?? false,
    kubernetes: [options.kubernetes ?? DEFAULT_MINOR].flat(),
    components: options.components ?? "all",
    ports: await freePorts(sites * portsPerSite, "127.0.0.1", random),
    nodeSubnets: options.nodes ? freeNodeSubnets(sites, hostAddresses, Math.floor(random() * 256)) : [],
  });
}
