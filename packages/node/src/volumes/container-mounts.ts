import { posix } from "node:path";
import { describeError, type Logger } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { expand, unknownVariables } from "../environment/expansion.ts";
import type { Container } from "../environment/pod-containers.ts";
import type { EnvironmentVariable, Mount } from "../runtime/configuration.ts";
import {
  RecursiveReadOnlyRefused,
  SubPathInvalid,
  SubPathRefused,
  SubPathVariableMissing,
  VolumeMissing,
} from "./errors.ts";
import type { Mounter } from "./mounter.ts";
import type { PodDirectory } from "./pod-directory.ts";
import type { Volume } from "./projections.ts";
import { bindSubPath, makeSubPath, pathOf } from "./sub-path.ts";
import type { VolumePlace } from "./volume-setup.ts";

type VolumeMount = NonNullable<Container["volumeMounts"]>[number];

export interface ContainerMountsOptions {
  readonly pod: Pod;
  readonly directory: PodDirectory;
  readonly mounter: Mounter | undefined;
  readonly recursiveReadOnly: boolean;
  readonly logger: Logger;
  readonly place: (volume: Volume) => Promise<VolumePlace>;
  /** Called for volumes whose later mounts are to be seen on both sides, or on one. */
  readonly share: (place: VolumePlace) => Promise<void>;
  /** Asked only where a sub-path refers to variables. */
  readonly environment: () => Promise<readonly EnvironmentVariable[]>;
}

/** What a container has mounted of its pod's volumes, in its own order. */
export async function containerMounts(container: Container, options: ContainerMountsOptions): Promise<Mount[]> {
  const mounts: Mount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const volume = options.pod.spec?.volumes?.find((candidate) => candidate.name === mount.name);
    if (volume === undefined) throw new VolumeMissing({ volume: mount.name, container: container.name });
    const subPath = await subPathOf(mount, options);
    const source = await sourceOf(volume, subPath, mount, { container: container.name, index }, options);
    const recursiveReadOnly = isRecursivelyReadOnly(mount, options.recursiveReadOnly);
    mounts.push({
      ...source,
      containerPath: posix.isAbsolute(mount.mountPath) ? mount.mountPath : `/${mount.mountPath}`,
      readOnly: source.readOnly || (mount.readOnly ?? false),
      ...(recursiveReadOnly ? { recursiveReadOnly } : {}),
      propagation: propagationOf(mount),
    });
  }
  return mounts;
}

type MountSource = Pick<Mount, "hostPath" | "readOnly" | "image" | "imageSubPath">;

async function sourceOf(
  volume: Volume,
  subPath: string,
  mount: VolumeMount,
  use: { container: string; index: number },
  options: ContainerMountsOptions,
): Promise<MountSource> {
  if (volume.image !== undefined) {
    const image = volume.image.reference ?? "";
    return { hostPath: "", readOnly: true, image, ...(subPath === "" ? {} : { imageSubPath: subPath }) };
  }
  const place = await options.place(volume);
  if (propagationOf(mount) !== "private") await options.share(place);
  const { path, readOnly } = place;
  if (subPath === "") return { hostPath: path, readOnly };
  try {
    return { hostPath: await subPathSource(path, subPath, volume.name, use, options), readOnly };
  } catch (error) {
    // What is on the machine is none of the pod's business: only the log says why.
    const { container } = use;
    options.logger.warn("A sub-path cannot be used", { volume: volume.name, container, reason: describeError(error) });
    throw new SubPathInvalid({ volume: volume.name, container });
  }
}

async function subPathSource(
  path: string,
  subPath: string,
  volume: string,
  { container, index }: { container: string; index: number },
  { directory, mounter }: ContainerMountsOptions,
): Promise<string> {
  const handle = await makeSubPath(path, subPath);
  try {
    if (mounter === undefined) return await pathOf(handle);
    const target = directory.subPath(volume, container, index);
    await bindSubPath(handle, target, mounter);
    return target;
  } finally {
    await handle.close();
  }
}

async function subPathOf(mount: VolumeMount, options: ContainerMountsOptions): Promise<string> {
  const path = await givenSubPath(mount, options);
  const refuse = (reason: string) => new SubPathRefused({ path: JSON.stringify(path), volume: mount.name, reason });
  if (posix.isAbsolute(path)) throw refuse("must not be an absolute path");
  if (path.split("/").includes("..")) throw refuse("must not contain '..'");
  return path;
}

async function givenSubPath(mount: VolumeMount, options: ContainerMountsOptions): Promise<string> {
  if (!mount.subPathExpr) return mount.subPath ?? "";
  const variables = new Map((await options.environment()).map(({ name, value }) => [name, value]));
  const missing = unknownVariables(mount.subPathExpr, variables);
  if (missing.length > 0) throw new SubPathVariableMissing({ variables: missing.join(", "), volume: mount.name });
  return expand(mount.subPathExpr, variables);
}

function propagationOf({ mountPropagation }: VolumeMount): NonNullable<Mount["propagation"]> {
  if (mountPropagation === "HostToContainer") return "hostToContainer";
  return mountPropagation === "Bidirectional" ? "bidirectional" : "private";
}

function isRecursivelyReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const { name: volume, recursiveReadOnly = "Disabled", readOnly, mountPropagation = "None" } = mount;
  if (recursiveReadOnly === "Disabled") return false;
  if (!readOnly) throw new RecursiveReadOnlyRefused({ volume, reason: "it is not read-only" });
  if (mountPropagation !== "None") {
    const reason = `it is not compatible with propagation "${mountPropagation}"`;
    throw new RecursiveReadOnlyRefused({ volume, reason });
  }
  if (recursiveReadOnly === "IfPossible") return supported;
  if (!supported) throw new RecursiveReadOnlyRefused({ volume, reason: "it is not supported by the runtime" });
  return true;
}
