import { mkdir, open, readFile, rmdir } from "node:fs/promises";
import { describeError, type Logger, silentLogger } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { resolveEnvironment } from "../environment/environment.ts";
import { ContainerMissing, EnvironmentFileUnreadable } from "../environment/errors.ts";
import { allContainers, findContainer } from "../environment/pod-containers.ts";
import type { PodObjects } from "../objects/pod-objects.ts";
import type { Mount } from "../runtime/configuration.ts";
import { containerMounts } from "./container-mounts.ts";
import { VolumeSetUpFailed } from "./errors.ts";
import { exists, isCode } from "./file-errors.ts";
import { ensureHostsFile, hostsFile } from "./hosts-file.ts";
import { MemoryDirectory } from "./memory-directory.ts";
import { type Mounter, systemMounter, unmountAll } from "./mounter.ts";
import type { NodeIdentity } from "./node-affinity.ts";
import { PodDirectory } from "./pod-directory.ts";
import type { PodFacts, PodVolumes } from "./pod-volumes.ts";
import { isProjection, type Volume } from "./projections.ts";
import { openSubPath } from "./sub-path.ts";
import { removeTree } from "./tree-removal.ts";
import { Turns } from "./turns.ts";
import { type VolumePlace, VolumeSetup } from "./volume-setup.ts";
import { type VolumeUsage, volumeUsage } from "./volume-usage.ts";

export interface LocalVolumesOptions {
  /** The node's state directory: volumes are in `pods/<uid>` below it. */
  readonly stateDirectory: string;
  readonly objects: PodObjects;
  /** Name and labels as they are now, for the node affinity of persistent volumes. */
  readonly node: () => NodeIdentity;
  /** @default "cluster.local" */
  readonly clusterDomain?: string;
  /** Whether the runtime can mount recursively read-only. @default false */
  readonly recursiveReadOnly?: boolean;
  /** @default one where this process may mount */
  readonly mounter?: Mounter | undefined;
  /** Where memory can be had without mounting. @default "/dev/shm" */
  readonly sharedMemory?: string;
  /** The machine's own, for pods on its network. @default "/etc/hosts" */
  readonly hostsFile?: string;
  readonly logger?: Logger;
}

/** The largest file of variables that is read. */
const LARGEST_ENVIRONMENT_FILE = 64 * 1024;

/** The volumes of this machine's pods, as files and mounts below the node's state directory. */
export class LocalVolumes implements PodVolumes {
  readonly #options: LocalVolumesOptions;
  readonly #logger: Logger;
  readonly #mounter: Mounter | undefined;
  readonly #memory: MemoryDirectory;
  readonly #turns = new Turns();
  readonly #refreshAt = new Map<string, number>();

  constructor(options: LocalVolumesOptions) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
    this.#mounter = "mounter" in options ? options.mounter : systemMounter();
    this.#memory = new MemoryDirectory(options.stateDirectory, this.#mounter, options.sharedMemory);
  }

  ensure(pod: Pod, facts: PodFacts, signal?: AbortSignal): Promise<void> {
    return this.#setUp(pod, facts, signal, async (setup, volume, directory) => {
      await mkdir(directory.volumes, { recursive: true, mode: 0o750 });
      await setup.ensure(volume);
    });
  }

  refresh(pod: Pod, facts: PodFacts, signal?: AbortSignal): Promise<void> {
    return this.#setUp(pod, facts, signal, async (setup, volume, directory) => {
      // Nothing of a pod comes back after its removal.
      if (isProjection(volume) && (await exists(directory.volumes))) await setup.project(volume);
    });
  }

  /** When the first of the pod's tokens should be replaced, by calling `refresh`; undefined where it has none. */
  nextRefresh(podUid: string): number | undefined {
    return this.#refreshAt.get(podUid);
  }

  async mounts(pod: Pod, containerName: string, facts: PodFacts): Promise<Mount[]> {
    const container = findContainer(pod, containerName);
    if (container === undefined) throw new ContainerMissing({ name: containerName });
    const directory = await this.#directory(pod.metadata.uid ?? "");
    const setup = this.#setupOf(pod, facts, directory);
    const mounts = await containerMounts(container, {
      pod,
      directory,
      mounter: this.#mounter,
      recursiveReadOnly: this.#options.recursiveReadOnly ?? false,
      logger: this.#logger,
      place: (volume) => this.#placeOf(volume, setup, pod.metadata.uid ?? ""),
      share: ({ path }) => this.#share(path, directory, pod.metadata.uid ?? ""),
      environment: () => resolveEnvironment(pod, container, facts, this.#options.objects, this.readFile),
    });
    const hosts = await this.#hostsMount(pod, facts, directory, mounts);
    return hosts === undefined ? mounts : [...mounts, hosts];
  }

  /** Ephemeral containers may mount volumes that none did when the pod was started. */
  async #placeOf(volume: Volume, setup: VolumeSetup, uid: string): Promise<VolumePlace> {
    const place = await setup.place(volume);
    if (!(await exists(place.path))) await this.#turns.take(uid, () => setup.ensure(volume));
    return place;
  }

  /**
   * Runtimes mount with propagation only what is on a shared mount, which the machine's root need not be. What is not
   * below the node's own directory is left as the machine has it.
   */
  async #share(path: string, { path: own, memoryPath }: PodDirectory, uid: string): Promise<void> {
    const isOwn = [own, memoryPath].some((directory) => path.startsWith(`${directory}/`));
    if (isOwn) await this.#turns.take(uid, async () => this.#mounter?.share(path));
  }

  /** Reads a small file of one of the pod's emptyDirs, for variables by `fileKeyRef`. */
  readonly readFile = async (pod: Pod, volumeName: string, path: string): Promise<string> => {
    const volume = pod.spec?.volumes?.find(({ name }) => name === volumeName);
    try {
      if (volume?.emptyDir === undefined) throw new EnvironmentFileUnreadable({ path, volume: volumeName });
      const directory = await this.#directory(pod.metadata.uid ?? "");
      const place = await this.#setupOf(pod, noFacts, directory).place(volume);
      const handle = await openSubPath(place.path, path);
      try {
        // A pipe would keep us waiting for a writer.
        if (!(await handle.stat()).isFile()) throw new EnvironmentFileUnreadable({ path, volume: volumeName });
        return await readSmall(`/proc/self/fd/${handle.fd}`);
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw new EnvironmentFileUnreadable({ path, volume: volumeName }, { cause: error });
    }
  };

  /** What the pod's emptyDirs take, for limits and eviction. */
  async usage(podUid: string, signal?: AbortSignal): Promise<VolumeUsage[]> {
    return volumeUsage(await this.#directory(podUid), signal);
  }

  remove(podUid: string): Promise<void> {
    return this.#turns.take(podUid, async () => {
      this.#refreshAt.delete(podUid);
      const directory = await this.#directory(podUid);
      for (const path of [directory.path, directory.memoryPath]) await unmountAll(this.#mounter, path);
      await removeTree(directory.memoryPath);
      await removeTree(directory.volumes);
      await removeTree(directory.subPaths);
      for (const file of [directory.hostsFile, `${directory.hostsFile}.new`]) await removeTree(file);
      await removeIfEmpty(directory.path);
      await this.#memory.tidy();
    });
  }

  /** Does something to each volume that a container uses; all are tried before the first failure is told. */
  #setUp(
    pod: Pod,
    facts: PodFacts,
    signal: AbortSignal | undefined,
    work: (setup: VolumeSetup, volume: Volume, directory: PodDirectory) => Promise<void>,
  ): Promise<void> {
    const uid = pod.metadata.uid ?? "";
    return this.#turns.take(uid, async () => {
      signal?.throwIfAborted();
      const directory = await this.#directory(uid);
      const refreshTimes: number[] = [];
      const setup = this.#setupOf(pod, facts, directory, signal, (at) => refreshTimes.push(at));
      const outcomes = await Promise.allSettled(
        usedVolumes(pod).map(async (volume) => {
          try {
            await work(setup, volume, directory);
          } catch (error) {
            const values = { volume: volume.name, reason: describeError(error) };
            throw new VolumeSetUpFailed(values, { cause: error });
          }
        }),
      );
      if (refreshTimes.length > 0) this.#refreshAt.set(uid, Math.min(...refreshTimes));
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    });
  }

  async #directory(uid: string): Promise<PodDirectory> {
    return new PodDirectory(this.#options.stateDirectory, await this.#memory.location(), uid);
  }

  #setupOf(
    pod: Pod,
    facts: PodFacts,
    directory: PodDirectory,
    signal?: AbortSignal,
    onToken: (refreshAt: number) => void = () => {},
  ): VolumeSetup {
    return new VolumeSetup({
      pod,
      facts,
      directory,
      objects: this.#options.objects,
      memory: this.#memory,
      mounter: this.#mounter,
      node: this.#options.node(),
      logger: this.#logger,
      signal,
      onToken,
    });
  }

  /** /etc/hosts, unless the container brings its own or the pod has no address yet. */
  async #hostsMount(pod: Pod, facts: PodFacts, directory: PodDirectory, mounts: readonly Mount[]) {
    const hostNetwork = pod.spec?.hostNetwork ?? false;
    if (facts.podIPs.length === 0 && !hostNetwork) return undefined;
    if (mounts.some(({ containerPath }) => containerPath === "/etc/hosts")) return undefined;
    const { hostsFile: machineFile = "/etc/hosts", clusterDomain = "cluster.local" } = this.#options;
    const machineHosts = hostNetwork ? await readFile(machineFile, "utf8") : "";
    await mkdir(directory.path, { recursive: true, mode: 0o750 });
    await ensureHostsFile(directory.hostsFile, hostsFile(pod, facts.podIPs, clusterDomain, machineHosts));
    const mount: Mount = { hostPath: directory.hostsFile, containerPath: "/etc/hosts", readOnly: false };
    return mount;
  }
}

const noFacts: PodFacts = { podIPs: [], hostIPs: [], allocatable: {} };

/** Volumes that no container mounts are not made, and hold nothing up. */
function usedVolumes(pod: Pod): Volume[] {
  const used = new Set(allContainers(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  return (pod.spec?.volumes ?? []).filter(({ name }) => used.has(name));
}

async function readSmall(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(LARGEST_ENVIRONMENT_FILE);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function removeIfEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (!isCode(error, "ENOTEMPTY") && !isCode(error, "ENOENT")) throw error;
  }
}
