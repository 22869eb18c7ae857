import { type Logger, silentLogger } from "@fjord/base";
import type { ClusterConfig } from "@fjord/kube";
import { NoSuchProcessError, NoSuchSiteError } from "./errors.ts";
import { removeBed } from "./leftovers.ts";
import type { ManagedProcess } from "./managed-process.ts";
import { pathKubeconfig, pathServer } from "./network/bed-network.ts";
import type { LaneShape } from "./network/lane.ts";
import type { CutOptions, Direction, NetworkControl } from "./network/network.ts";
import type { Endpoint } from "./network/relay.ts";
import type { Registry } from "./registry.ts";
import type { Site } from "./site.ts";
import type { StateFile } from "./state.ts";

/** How one site reaches another. */
export interface SitePath {
  readonly from: Site;
  readonly to: Site;
  /** Base URL of the API server of `to`, as `from` has to call it. */
  readonly server: string;
  /** Path of a kubeconfig file for the administrator of `to`, as seen from `from`. */
  readonly kubeconfig: string;
  readonly config: ClusterConfig;
  /** Makes something else of `to` reachable for `from`, and gives the address to reach it by. */
  expose(target: Endpoint): Promise<Endpoint>;
}

export interface BedParts {
  sites: readonly Site[];
  /** Processes that serve the whole bed. */
  processes: readonly ManagedProcess[];
  network: NetworkControl;
  state: StateFile;
  registry: Registry;
  log?: Logger;
}

/** Several sites on one machine, and what lies between them. */
export class Bed {
  readonly #parts: BedParts;
  #stopped: Promise<void> | undefined;

  constructor(parts: BedParts) {
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.state.state.id;
  }

  get directory(): string {
    return this.#parts.state.state.directory;
  }

  get sites(): readonly Site[] {
    return this.#parts.sites;
  }

  get network(): NetworkControl {
    return this.#parts.network;
  }

  /** Every process: those of the sites, then those that serve the whole bed. */
  get processes(): readonly ManagedProcess[] {
    return [...this.sites.flatMap((site) => site.processes), ...this.#parts.processes];
  }

  site(name: string): Site {
    const site = this.sites.find((candidate) => candidate.name === name);
    if (site === undefined) {
      throw new NoSuchSiteError({ site: name, sites: this.sites.map((each) => each.name).join(", ") });
    }
    return site;
  }

  /** A process that serves the whole bed. */
  process(name: string): ManagedProcess {
    const process = this.#parts.processes.find((candidate) => candidate.name === name);
    if (process === undefined) {
      const processes = this.#parts.processes.map((each) => each.name).join(", ");
      throw new NoSuchProcessError({ site: "the test bed itself", process: name, processes });
    }
    return process;
  }

  path(from: string, to: string): SitePath {
    const [source, target] = [this.site(from), this.site(to)];
    const server = pathServer(source.layout, target.layout);
    return {
      from: source,
      to: target,
      server,
      kubeconfig: pathKubeconfig(source.layout, target.layout),
      config: { ...target.config, server },
      expose: (endpoint) => this.network.expose(from, to, endpoint),
    };
  }

  /** Stops all bytes between two sites, in both directions unless told otherwise. */
  cut(from: string, to: string, options?: CutOptions): Promise<void> {
    return this.network.cut(from, to, options);
  }

  heal(from: string, to: string, options?: Direction): Promise<void> {
    return this.network.heal(from, to, options);
  }

  /** Changes latency (milliseconds each way), jitter or bandwidth (bytes a second each way). */
  shape(from: string, to: string, shape: Partial<LaneShape>, options?: Direction): Promise<void> {
    return this.network.shape(from, to, shape, options);
  }

  /** Ends everything and leaves nothing behind. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    const { network, registry, log = silentLogger } = this.#parts;
    await network.close();
    await removeBed({ id: this.id, directory: this.directory }, { registry, log });
  }
}
