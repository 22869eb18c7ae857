import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Site, siteFiles } from "@fjord/testbed";
import { cpuSeconds } from "@fjord/testbed/bench";
import { startTestBed } from "@fjord/testbed/testing";
import type { LoadTarget } from "./requests.ts";
import type { Durability } from "./settings.ts";

/** Bundles as they are shipped. */
export interface Programs {
  readonly microkube: string;
  readonly node: string;
}

export interface PlaneOptions {
  readonly kind: "microkube" | "kubernetes";
  readonly components: "apiserver" | "all";
  readonly programs: Programs;
  /** Where its data is: on a disk, or syncing would cost nothing. */
  readonly directory: string;
}

export type Usage = ReadonlyMap<string, number>;

/** Seconds. */
const LONGEST_SETTLING = 30;
/** Of a processor, by all processes together. */
const QUIET_SHARE = 0.1;
const START_LIMIT = { timeout: 60_000 };

/** A control plane that is started anew as often as needed, empty each time, with or without syncing to disk. */
export class Plane implements AsyncDisposable {
  readonly site: Site;
  readonly #stopBed: () => Promise<void>;
  readonly #options: PlaneOptions;

  private constructor(site: Site, stopBed: () => Promise<void>, options: PlaneOptions) {
    this.site = site;
    this.#stopBed = stopBed;
    this.#options = options;
  }

  /** Makes keys and certificates; nothing runs yet. */
  static async prepare(options: PlaneOptions): Promise<Plane> {
    const { kind, components } = options;
    const directory = join(options.directory, `${kind}-${components}`);
    const kubernetes = kind === "microkube" ? { kubernetes: kind } : {};
    const bed = await startTestBed({ sites: 1, components, directory, ...kubernetes });
    const plane = new Plane(bed.sites[0] as Site, () => bed.stop(), options);
    await plane.stop();
    return plane;
  }

  get isMicrokube(): boolean {
    return this.#options.kind === "microkube";
  }

  get target(): LoadTarget {
    const { address, ports } = this.site.layout;
    const { ca = "", cert = "", key = "" } = this.site.config.tls;
    return { host: address, port: ports.apiserver, ca, cert, key };
  }

  /** Seconds from the start of the first process until it is ready, with nothing in its store. */
  async startEmpty(durability: Durability): Promise<number> {
    await this.stop();
    const { site } = this;
    const { directory } = site.layout;
    await rm(siteFiles(site.layout).etcdData, { recursive: true, force: true });
    for (const suffix of ["", "-wal", "-shm"]) await rm(join(directory, `state.db${suffix}`), { force: true });
    for (const { name, record } of site.processes) {
      const { site: _, log: __, identity: ___, args, ...rest } = record;
      site.removeProcess(name);
      site.addProcess({ ...rest, args: this.#arguments(name, args, durability) });
    }
    const began = performance.now();
    await site.start(START_LIMIT);
    return (performance.now() - began) / 1000;
  }

  #arguments(name: string, args: readonly string[], durability: Durability): string[] {
    const synced = durability === "with fsync";
    const without = (...prefixes: string[]) => args.filter((arg) => !prefixes.some((prefix) => arg.startsWith(prefix)));
    switch (name) {
      case "etcd":
        return [...without("--unsafe-no-fsync"), ...(synced ? [] : ["--unsafe-no-fsync=true"])];
      case "kube-apiserver":
        // Nothing queues requests: the processors are the limit, and no setting.
        return [...without("--enable-priority-and-fairness"), "--enable-priority-and-fairness=false"];
      case "microkube":
        return [
          this.#options.programs.microkube,
          ...without("--survives").slice(1),
          `--survives=${synced ? "machine" : "process"}`,
        ];
      default:
        return [...args];
    }
  }

  /** Nodes on which no container runs, played by one more process, the same beside both. */
  async startNodes(count: number): Promise<void> {
    const { site } = this;
    const args = [
      this.#options.programs.node,
      "simulate",
      `--nodes=${count}`,
      "--name=fleet",
      `--kubeconfig=${siteFiles(site.layout).adminKubeconfig}`,
      `--pod-range=${site.layout.podCidr}`,
    ];
    await site.addProcess({ name: "simulated nodes", file: process.execPath, args }).start();
  }

  /** Until it has done what follows a start: Kubernetes is ready long before, and would be measured with that. */
  async settle(signal: AbortSignal): Promise<void> {
    const spent = () => [...this.usage().values()].reduce((sum, each) => sum + each, 0);
    for (let second = 0, before = spent(); second < LONGEST_SETTLING; second++) {
      await pause(1_000, undefined, { signal });
      const now = spent();
      if (now - before <= QUIET_SHARE) return;
      before = now;
    }
  }

  /** Resident bytes of all its processes: the least over some seconds, after a rest. */
  async memory(restSeconds: number, signal: AbortSignal): Promise<number> {
    await pause(restSeconds * 1000, undefined, { signal });
    let least = Number.POSITIVE_INFINITY;
    for (let second = 0; second < Math.min(5, restSeconds); second++) {
      await pause(1_000, undefined, { signal });
      least = Math.min(least, this.site.memory);
    }
    return least;
  }

  /** Processor seconds of each process so far. */
  usage(): Usage {
    return new Map(
      this.site.processes.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, cpuSeconds(pid)]])),
    );
  }

  async stop(): Promise<void> {
    // Whoever depends on another goes first.
    for (const process of this.site.processes.toReversed()) await process.kill();
    if (this.site.processes.some(({ name }) => name === "simulated nodes")) this.site.removeProcess("simulated nodes");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopBed();
  }
}

export function usageBetween(before: Usage, after: Usage): Map<string, number> {
  return new Map([...after].map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)]));
}
