import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Mount } from "../../runtime/configuration.ts";
import { LocalVolumes, type LocalVolumesOptions } from "../local-volumes.ts";
import { MemoryObjects } from "./memory-objects.ts";

export const testUid = "0a1b2c3d-0000-4000-8000-000000000001";

/** Volumes in a directory of their own, without mounts unless the options say so. `again` is the node after a restart. */
export async function setUpVolumes(t: TestContext, options: Partial<LocalVolumesOptions> = {}) {
  const stateDirectory = await mkdtemp(join(tmpdir(), "volumes-"));
  const objects = new MemoryObjects();
  const all: LocalVolumesOptions = {
    stateDirectory,
    objects,
    node: () => ({ name: "node-1", labels: { zone: "a" } }),
    mounter: undefined,
    ...options,
  };
  const volumes = new LocalVolumes(all);
  t.after(async () => {
    await volumes.remove(testUid);
    for (const point of (await options.mounter?.mountsBelow(stateDirectory)) ?? [])
      await options.mounter?.unmount(point);
    await rm(stateDirectory, { recursive: true, force: true });
  });
  return { volumes, objects, stateDirectory, again: () => new LocalVolumes(all) };
}

/** The path on the machine of what is mounted at a path of the container. */
export function placeOf(mounts: readonly Mount[], path: string): string {
  const mount = mounts.find(({ containerPath }) => containerPath === path);
  assert.ok(mount, `nothing is mounted at ${path}`);
  return mount.hostPath;
}
