import { readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "@fjord/kube";
import { inUnits, parseQuantity } from "@fjord/kube";
import { type DiskUsage, diskUsage } from "./disk-usage.ts";
import { isCode } from "./file-errors.ts";
import type { PodDirectory } from "./pod-directory.ts";

/** What an emptyDir takes. */
export interface VolumeUsage extends DiskUsage {
  readonly volume: string;
  readonly medium: "disk" | "memory";
}

/** Measures all emptyDirs of a pod. */
export async function volumeUsage(directory: PodDirectory, signal?: AbortSignal): Promise<VolumeUsage[]> {
  const usages: VolumeUsage[] = [];
  for (const volume of await namesIn(directory.emptyDirectories)) {
    const used = await diskUsage(join(directory.emptyDirectories, volume), signal);
    usages.push({ volume, medium: "disk", ...used });
  }
  for (const volume of await namesIn(directory.memoryEmptyDirectories)) {
    const used = await diskUsage(join(directory.memoryEmptyDirectories, volume), signal);
    usages.push({ volume, medium: "memory", ...used });
  }
  for (const volume of await namesIn(directory.memoryFileSystems)) {
    const { blocks, bfree, bsize, files, ffree } = await statfs(join(directory.memoryFileSystems, volume));
    usages.push({ volume, medium: "memory", usedBytes: (blocks - bfree) * bsize, inodesUsed: files - ffree });
  }
  return usages;
}

/** The emptyDirs that have outgrown their limits, a sentence for each: the pod is to be evicted. Pure. */
export function exceededLimits(pod: Pod, usages: readonly VolumeUsage[]): string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, emptyDir }) => {
    const limit = emptyDir?.sizeLimit;
    const used = usages.find(({ volume }) => volume === name)?.usedBytes ?? 0;
    if (limit === undefined || inUnits(parseQuantity(limit)) === 0 || used <= inUnits(parseQuantity(limit))) return [];
    return [`Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `];
  });
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).filter((name) => !name.startsWith("."));
  } catch (error) {
    if (isCode(error, "ENOENT")) return [];
    throw error;
  }
}
