import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { PodObjects } from "../objects/pod-objects.ts";
import { AtomicDirectory } from "./atomic-directory.ts";
import { ensureEmptyDirectory, ensureMemoryFileSystem, memorySize } from "./empty-directory.ts";
import { PersistentVolumeUnusable, UnsupportedVolume } from "./errors.ts";
import { isCode } from "./file-errors.ts";
import { giveToGroup } from "./group-ownership.ts";
import { ensureHostPath } from "./host-path.ts";
import type { MemoryDirectory } from "./memory-directory.ts";
import type { Mounter } from "./mounter.ts";
import { nestedMountPoints } from "./nested-mounts.ts";
import type { NodeIdentity } from "./node-affinity.ts";
import { ownershipOf } from "./ownership.ts";
import { type PersistentDirectory, persistentDirectoryOf } from "./persistent-volume.ts";
import { checkedName, type PodDirectory } from "./pod-directory.ts";
import type { PodFacts } from "./pod-volumes.ts";
import { isProjection, projectionOf, type Volume } from "./projections.ts";

/** Where a volume is on this machine. */
export interface VolumePlace {
  readonly path: string;
  readonly readOnly: boolean;
}

export interface VolumeSetupOptions {
  readonly pod: Pod;
  readonly facts: PodFacts;
  readonly directory: PodDirectory;
  readonly objects: PodObjects;
  readonly memory: MemoryDirectory;
  readonly mounter: Mounter | undefined;
  readonly node: NodeIdentity;
  readonly logger: Logger;
  readonly signal?: AbortSignal | undefined;
  /** Told when a token of the pod should be replaced. */
  readonly onToken: (refreshAt: number) => void;
}

/** Makes and finds the volumes of one pod. */
export class VolumeSetup {
  readonly #options: VolumeSetupOptions;
  readonly #ownership: ReturnType<typeof ownershipOf>;

  constructor(options: VolumeSetupOptions) {
    this.#options = options;
    this.#ownership = ownershipOf(options.pod);
  }

  async ensure(volume: Volume): Promise<void> {
    if (volume.image !== undefined) return;
    if (isProjection(volume)) return this.project(volume);
    if (volume.hostPath !== undefined) return ensureHostPath(volume.hostPath.path, volume.hostPath.type);
    if (volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined) {
      return this.#ensurePersistent(await this.#persistent(volume));
    }
    if (Object.keys(volume).length > 1 && volume.emptyDir === undefined) throw unsupported(volume);
    await this.#ensureEmpty(volume);
  }

  async place(volume: Volume): Promise<VolumePlace> {
    if (volume.hostPath !== undefined) return { path: volume.hostPath.path, readOnly: false };
    if (volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined) return this.#persistent(volume);
    if (isProjection(volume)) return { path: this.#projectionPath(volume), readOnly: true };
    return { path: this.#emptyPath(volume), readOnly: false };
  }

  /** Brings a volume of files from the API up to date. */
  async project(volume: Volume): Promise<void> {
    const { pod, facts, objects, memory, signal, onToken } = this.#options;
    const projection = await projectionOf(volume, {
      pod,
      facts,
      objects,
      ownership: this.#ownership,
      signal,
      onToken,
    });
    const path = this.#projectionPath(volume);
    const directory = new AtomicDirectory(path, {
      group: this.#ownership.fsGroup,
      onChownRefused: this.#onChownRefused,
    });
    const write = async () => {
      await mkdir(join(path, ".."), { recursive: true, mode: 0o750 });
      await directory.write(projection, nestedMountPoints(pod, volume.name));
    };
    await (volume.configMap === undefined ? memory.hold(write) : write());
  }

  #projectionPath(volume: Volume): string {
    const { directory } = this.#options;
    const parent = volume.configMap === undefined ? directory.secrets : directory.configMaps;
    return join(parent, checkedName("the volume", volume.name));
  }

  #emptyPath(volume: Volume): string {
    const { directory, mounter } = this.#options;
    const name = checkedName("the volume", volume.name);
    if (volume.emptyDir?.medium !== "Memory") return join(directory.emptyDirectories, name);
    return join(mounter === undefined ? directory.memoryEmptyDirectories : directory.memoryFileSystems, name);
  }

  async #ensureEmpty(volume: Volume): Promise<void> {
    const { pod, facts, mounter, memory } = this.#options;
    const path = this.#emptyPath(volume);
    const group = this.#ownership.fsGroup;
    const medium = volume.emptyDir?.medium ?? "";
    if (medium !== "" && medium !== "Memory") throw unsupported(volume);
    const makeParent = () => mkdir(join(path, ".."), { recursive: true, mode: 0o750 });
    if (medium === "Memory" && mounter !== undefined) {
      await makeParent();
      return ensureMemoryFileSystem(path, mounter, { sizeBytes: memorySize(volume, pod, facts), group });
    }
    const make = async () => {
      if (medium === "Memory" && !(await memory.inMemory())) throw unsupported(volume);
      await makeParent();
      await ensureEmptyDirectory(path, group, this.#onChownRefused);
    };
    await (medium === "Memory" ? memory.hold(make) : make());
  }

  #persistent(volume: Volume): Promise<PersistentDirectory> {
    const { pod, objects, node, signal } = this.#options;
    checkedName("the volume", volume.name);
    return persistentDirectoryOf(volume, pod, objects, node, signal);
  }

  async #ensurePersistent(found: PersistentDirectory): Promise<void> {
    if (found.kind === "hostPath") return ensureHostPath(found.path, found.hostPathType);
    const { name, path, readOnly } = found;
    const there = await stat(path).catch((error) => {
      throw new PersistentVolumeUnusable(
        { name, reason: `has the path "${path}", which does not exist` },
        { cause: error },
      );
    });
    if (!there.isDirectory()) {
      throw new PersistentVolumeUnusable({ name, reason: `has the path "${path}", which is not a directory` });
    }
    const { fsGroup, policy } = this.#ownership;
    if (fsGroup === undefined || readOnly) return;
    await giveToGroup(path, fsGroup, policy).catch((error) => {
      if (!isCode(error, "EPERM")) throw error;
      this.#onChownRefused(path, error);
    });
  }

  /** Without root, files stay with the node's own user, which is that of its pods too. */
  readonly #onChownRefused = (path: string, error: unknown): void => {
    if (process.getuid?.() === 0) throw error;
    this.#options.logger.debug("Left a file of a volume with the node's own user", { path });
  };
}

function unsupported(volume: Volume): Error {
  const [kind = ""] = Object.keys(volume).filter((key) => key !== "name");
  const medium = volume.emptyDir?.medium ? ` with medium ${volume.emptyDir.medium}` : "";
  return new UnsupportedVolume({ what: `volume "${volume.name}" of kind ${kind}${medium}` });
}
