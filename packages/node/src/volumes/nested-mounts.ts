import { posix } from "node:path";
import type { Pod } from "@fjord/kube";
import { allContainers } from "../environment/pod-containers.ts";

/**
 * Directories that a read-only volume must have because containers mount other volumes inside it, where nothing could be
 * made any more. Only the uppermost of those that lie in each other: the others are inside the volume mounted there.
 */
export function nestedMountPoints(pod: Pod, volume: string): string[] {
  const points = new Set<string>();
  for (const { volumeMounts = [] } of allContainers(pod)) {
    for (const mount of volumeMounts) {
      if (mount.name !== volume || mount.subPath || mount.subPathExpr) continue;
      const outer = withSlash(mount.mountPath);
      const inner = volumeMounts.map((other) => withSlash(other.mountPath)).filter((path) => path.startsWith(outer));
      for (const path of inner) {
        const covered = inner.some((other) => other !== path && path.startsWith(other) && other !== outer);
        if (path !== outer && !covered) points.add(path.slice(outer.length, -1));
      }
    }
  }
  return [...points].filter((point) => !point.startsWith(".."));
}

function withSlash(path: string): string {
  return posix.normalize(`/${path}/`);
}
