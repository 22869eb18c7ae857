import { join } from "node:path";
import { InvalidVolumeName } from "./errors.ts";
import { isLabel } from "./volume-objections.ts";

/** Where things of a pod are. Every name is checked: they come from outside. */
export class PodDirectory {
  /** Working files of the pod, volumes among them. */
  readonly path: string;
  /** The pod's part of what is kept in memory, below the node's memory directory. */
  readonly memoryPath: string;

  constructor(stateDirectory: string, memoryDirectory: string, uid: string) {
    if (!/^[A-Za-z0-9][-\w.]{0,127}$/.test(uid)) throw invalid("the pod's uid", uid);
    this.path = join(stateDirectory, "pods", uid);
    this.memoryPath = join(memoryDirectory, uid);
  }

  get volumes(): string {
    return join(this.path, "volumes");
  }

  get subPaths(): string {
    return join(this.path, "volume-subpaths");
  }

  get hostsFile(): string {
    return join(this.path, "etc-hosts");
  }

  get emptyDirectories(): string {
    return join(this.volumes, "empty-dir");
  }

  /** File systems of their own. */
  get memoryFileSystems(): string {
    return join(this.volumes, "memory");
  }

  get configMaps(): string {
    return join(this.volumes, "config-map");
  }

  /** emptyDirs in memory where the node may not mount. */
  get memoryEmptyDirectories(): string {
    return join(this.memoryPath, "empty-dir");
  }

  /** Volumes with content that must not reach a disk. */
  get secrets(): string {
    return join(this.memoryPath, "volumes");
  }

  subPath(volume: string, container: string, index: number): string {
    return join(this.subPaths, checkedName("the volume", volume), checkedName("the container", container), `${index}`);
  }
}

/** A name from a pod that is to become the name of a file. */
export function checkedName(what: string, name: string): string {
  if (!isLabel(name)) throw invalid(what, name);
  return name;
}

function invalid(what: string, name: string): Error {
  return new InvalidVolumeName({ what, name: JSON.stringify(name) });
}
