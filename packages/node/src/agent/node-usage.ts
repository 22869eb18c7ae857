import { join } from "node:path";
import { type Clock, describeError, type Logger } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { Summary } from "../kubelet-api/summary.ts";
import { exceededStorage, observationsOf, type PodUsage } from "../machine/eviction/index.ts";
import {
  buildSummary,
  type FileSystemUsage,
  type PodStorage,
  readFileSystem,
  readMachineUsage,
  UsageHistory,
} from "../machine/index.ts";
import { logDirectory } from "../pod/pod-directory.ts";
import type { PodManager } from "../pod/pod-manager.ts";
import { unreadableQuantities } from "../resources/pod-quantities.ts";
import type { ContainerStats, Runtime, SandboxStats } from "../runtime/index.ts";
import { diskUsage } from "../volumes/disk-usage.ts";
import type { LocalVolumes } from "../volumes/index.ts";

export interface NodeUsageOptions {
  readonly nodeName: string;
  readonly stateDirectory: string;
  readonly memoryBytes: number;
  readonly runtimes: readonly Runtime[];
  readonly manager: Pick<PodManager, "pods">;
  readonly volumes: Pick<LocalVolumes, "usage">;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Stats {
  readonly sandboxes: readonly SandboxStats[];
  readonly containers: readonly ContainerStats[];
}

/** What the machine and its pods use, measured when asked for. */
export class NodeUsage {
  readonly #options: NodeUsageOptions;
  readonly #history = new UsageHistory();

  constructor(options: NodeUsageOptions) {
    this.#options = options;
  }

  /** For `/stats/summary`. */
  async summary(signal?: AbortSignal): Promise<Summary> {
    const { nodeName, stateDirectory, clock, manager } = this.#options;
    const [machine, nodeFs, imageFs, stats, storage] = await Promise.all([
      readMachineUsage({ clock }),
      readFileSystem(stateDirectory, clock),
      this.#imageFs(signal),
      this.#stats(signal),
      this.#storage(signal),
    ]);
    const podStarts = new Map(manager.pods().flatMap(startOf));
    return buildSummary({
      nodeName,
      machine,
      nodeFs,
      ...(imageFs && { imageFs }),
      stats,
      storage,
      podStarts,
      history: this.#history,
    });
  }

  /** For the thresholds of eviction. */
  async observe() {
    const { stateDirectory, clock, memoryBytes } = this.#options;
    const [machine, nodeFs, imageFs] = await Promise.all([
      readMachineUsage({ clock }),
      readFileSystem(stateDirectory, clock),
      this.#imageFs(),
    ]);
    return observationsOf(machine, memoryBytes, nodeFs, imageFs);
  }

  async podUsages(): Promise<PodUsage[]> {
    const [stats, storage] = await Promise.all([this.#stats(), this.#storage()]);
    return this.#running().map((pod) => {
      const uid = pod.metadata.uid ?? "";
      const containers = stats.containers.filter((each) => each.pod.uid === uid);
      const sandbox = stats.sandboxes.find((each) => each.pod.uid === uid);
      const layers = containers.map(({ rootFs }) => rootFs);
      const volumes = storage.get(uid)?.volumes ?? [];
      const logs = Object.values(storage.get(uid)?.logs ?? {});
      const files = [...layers.flatMap((each) => each ?? []), ...volumes, ...logs];
      return {
        pod,
        memoryBytes: sandbox?.usage?.workingSetBytes ?? sum(containers.map(({ usage }) => usage.workingSetBytes)),
        storageBytes: sum(files.map(({ usedBytes }) => usedBytes)),
        inodes: sum(files.map(({ inodesUsed }) => inodesUsed)),
        processes: sandbox?.processes ?? 0,
      };
    });
  }

  /** Pods that have outgrown their own limits of storage. */
  async overLimits(): Promise<{ pod: Pod; message: string }[]> {
    // One whose limits cannot be read must not keep the others from being held to theirs.
    const limited = this.#running().filter((pod) => hasStorageLimit(pod) && unreadableQuantities(pod).length === 0);
    if (limited.length === 0) return [];
    const [stats, storage] = await Promise.all([this.#stats(), this.#storage()]);
    return limited.flatMap((pod) => {
      const { uid = "" } = pod.metadata;
      const containers = stats.containers.filter((each) => each.pod.uid === uid);
      const [message] = exceededStorage(pod, containers, storage.get(uid));
      return message === undefined ? [] : [{ pod, message }];
    });
  }

  #running(): Pod[] {
    return this.#options.manager.pods().filter(({ status }) => !["Succeeded", "Failed"].includes(status?.phase ?? ""));
  }

  async #stats(signal?: AbortSignal): Promise<Stats> {
    const all = await Promise.all(this.#options.runtimes.map((runtime) => runtime.stats(signal)));
    return { sandboxes: all.flatMap((each) => each.sandboxes), containers: all.flatMap((each) => each.containers) };
  }

  async #storage(signal?: AbortSignal): Promise<Map<string, PodStorage>> {
    const { volumes, stateDirectory, manager } = this.#options;
    const storage = new Map<string, PodStorage>();
    for (const pod of manager.pods()) {
      const { uid = "" } = pod.metadata;
      const used = await volumes.usage(uid, signal);
      const logs: Record<string, { usedBytes: number; inodesUsed: number }> = {};
      for (const { name } of pod.spec?.containers ?? []) {
        logs[name] = await diskUsage(join(logDirectory(stateDirectory, pod), name), signal);
      }
      const onDisk = used.filter(({ medium }) => medium === "disk");
      storage.set(uid, { volumes: onDisk.map(({ volume, ...usage }) => ({ name: volume, ...usage })), logs });
    }
    return storage;
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

function startOf({ metadata, status }: Pod): [string, number][] {
  const start = Date.parse(status?.startTime ?? "");
  return metadata.uid === undefined || Number.isNaN(start) ? [] : [[metadata.uid, start]];
}

function hasStorageLimit({ spec }: Pod): boolean {
  return (
    (spec?.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
    (spec?.containers ?? []).some(({ resources }) => resources?.limits?.["ephemeral-storage"] !== undefined)
  );
}

function sum(amounts: readonly (number | undefined)[]): number {
  return amounts.reduce<number>((total, amount) => total + (amount ?? 0), 0);
}
