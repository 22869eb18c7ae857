import { type Clock, describeError, type Logger } from "@fjord/base";
import type { Summary } from "../kubelet-api/summary.ts";
import {
  buildSummary,
  type FileSystemUsage,
  readFileSystem,
  readMachineUsage,
  UsageHistory,
} from "../machine/index.ts";
import type { PodManager } from "../pod/pod-manager.ts";
import type { ContainerStats, Runtime, SandboxStats } from "../runtime/index.ts";
import type { LocalVolumes } from "../volumes/index.ts";

export interface NodeSummaryOptions {
  readonly nodeName: string;
  readonly stateDirectory: string;
  readonly runtimes: readonly Runtime[];
  readonly manager: Pick<PodManager, "pods">;
  readonly volumes: Pick<LocalVolumes, "usage">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the machine and its pods use, measured when asked for. */
export class NodeSummary {
  readonly #options: NodeSummaryOptions;
  readonly #history = new UsageHistory();

  constructor(options: NodeSummaryOptions) {
    this.#options = options;
  }

  async read(signal?: AbortSignal): Promise<Summary> {
    const { nodeName, stateDirectory, clock, manager } = this.#options;
    const [machine, nodeFs, imageFs, stats] = await Promise.all([
      readMachineUsage({ clock }),
      readFileSystem(stateDirectory, clock),
      this.#imageFs(signal),
      this.#stats(signal),
    ]);
    const starts = manager.pods().flatMap(({ metadata, status }): [string, number][] => {
      const start = Date.parse(status?.startTime ?? "");
      return metadata.uid === undefined || Number.isNaN(start) ? [] : [[metadata.uid, start]];
    });
    return buildSummary({
      nodeName,
      machine,
      nodeFs,
      ...(imageFs && { imageFs }),
      stats,
      podStarts: new Map(starts),
      history: this.#history,
    });
  }

  async #stats(signal?: AbortSignal): Promise<{ sandboxes: SandboxStats[]; containers: ContainerStats[] }> {
    const all = await Promise.all(this.#options.runtimes.map((runtime) => runtime.stats(signal)));
    return { sandboxes: all.flatMap((each) => each.sandboxes), containers: all.flatMap((each) => each.containers) };
  }

  async #imageFs(signal?: AbortSignal): Promise<FileSystemUsage | undefined> {
    const { runtimes, clock, logger } = this.#options;
    const images = runtimes.find((runtime) => runtime.images !== undefined)?.images;
    if (images === undefined) return undefined;
    try {
      const { mountpoint, usedBytes } = await images.fileSystem(signal);
      return { ...(await readFileSystem(mountpoint, clock)), usedBytes };
    } catch (error) {
      logger.debug("the images' file system cannot be measured", { error: describeError(error) });
      return undefined;
    }
  }
}
