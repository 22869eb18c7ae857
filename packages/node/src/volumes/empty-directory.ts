import { chmod, chown, mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Pod } from "@fjord/kube";
import { inUnits, parseQuantity } from "@fjord/kube";
import { exists, isCode } from "./file-errors.ts";
import { isMountPoint } from "./memory-directory.ts";
import type { Mounter } from "./mounter.ts";
import { modeForGroup } from "./ownership.ts";
import type { PodFacts } from "./pod-volumes.ts";
import type { Volume } from "./projections.ts";
import { removeTree } from "./tree-removal.ts";

/**
 * Makes an emptyDir where there is none. What is there already is left as the pod has made it: the directory gets its
 * name once it is complete.
 */
export async function ensureEmptyDirectory(path: string, group: number | undefined, onChownRefused: ChownRefused) {
  if (await exists(path)) return;
  const unfinished = join(dirname(path), `.new-${path.slice(dirname(path).length + 1)}`);
  await removeTree(unfinished);
  await mkdir(unfinished, { mode: 0o777 });
  if (group !== undefined) {
    try {
      await chown(unfinished, process.getuid?.() ?? -1, group);
    } catch (error) {
      if (!isCode(error, "EPERM")) throw error;
      onChownRefused(path, error);
    }
  }
  await chmod(unfinished, group === undefined ? 0o777 : modeForGroup(0o777, "directory", "write"));
  await rename(unfinished, path);
}

type ChownRefused = (path: string, error: unknown) => void;

/** The same in memory; filled anew after the machine has been started again. */
export async function ensureMemoryFileSystem(
  path: string,
  mounter: Mounter,
  options: { sizeBytes: number | undefined; group: number | undefined },
): Promise<void> {
  await mkdir(path, { recursive: true });
  if (await isMountPoint(path)) return;
  const { sizeBytes, group } = options;
  const mode = group === undefined ? 0o1777 : modeForGroup(0o1777, "directory", "write");
  await mounter.tmpfs(path, { sizeBytes, mode, group });
}

/** How large an emptyDir in memory may grow: its limit, the pod's memory, the node's, whichever is least. */
export function memorySize(volume: Volume, pod: Pod, facts: PodFacts): number | undefined {
  const sizes = [bytes(volume.emptyDir?.sizeLimit), podMemoryLimit(pod), facts.allocatable.memory].filter(
    (size): size is number => size !== undefined && size > 0,
  );
  return sizes.length === 0 ? undefined : Math.min(...sizes);
}

/** Of the pod as a whole: only where every container has one. */
function podMemoryLimit(pod: Pod): number | undefined {
  const whole = bytes(pod.spec?.resources?.limits?.memory);
  if (whole !== undefined) return whole;
  const limits = (pod.spec?.containers ?? []).map((container) => bytes(container.resources?.limits?.memory));
  const sidecars = (pod.spec?.initContainers ?? []).filter((container) => container.restartPolicy === "Always");
  limits.push(...sidecars.map((container) => bytes(container.resources?.limits?.memory)));
  if (limits.some((limit) => limit === undefined)) return undefined;
  const others = (pod.spec?.initContainers ?? []).map((container) => bytes(container.resources?.limits?.memory) ?? 0);
  return Math.max(
    limits.reduce((sum: number, limit) => sum + (limit ?? 0), 0),
    ...others,
  );
}

function bytes(text: string | number | undefined): number | undefined {
  return text === undefined ? undefined : inUnits(parseQuantity(text));
}
