import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@fjord/base";
import { cgroupMounts, cpuWeight, isUnified, PodCgroups } from "./pod-cgroups.ts";

test("hierarchies are found among the mounts, and told apart", () => {
  const mounts = cgroupMounts(
    "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
  );
  assert.deepEqual(mounts, [
    { directory: "/sys/fs/cgroup/memory", version: 1 },
    { directory: "/sys/fs/cgroup/unified", version: 2 },
  ]);
  assert.equal(isUnified(mounts), false);
  assert.equal(isUnified(mounts.slice(1)), true);
  assert.equal(isUnified([]), false);
});

test("weights of version 2 span what shares of version 1 do", () => {
  assert.equal(cpuWeight(2), 1);
  assert.equal(cpuWeight(1024), 39);
  assert.equal(cpuWeight(262_144), 10_000);
});

test("limits of version 2 are written in its own words, and controllers passed on to where they are needed", async () => {
  const root = await mkdtemp(join(tmpdir(), "cgroup-"));
  try {
    const group = join(root, "kubepods/pod1");
    await mkdir(group, { recursive: true });
    for (const directory of [root, join(root, "kubepods")]) {
      await writeFile(join(directory, "cgroup.controllers"), "cpu memory\n");
      await writeFile(join(directory, "cgroup.subtree_control"), "cpu\n");
    }
    for (const file of ["cpu.weight", "cpu.max", "memory.max"]) await writeFile(join(group, file), "");
    const cgroups = new PodCgroups([{ directory: root, version: 2 }], systemClock);
    await cgroups.prepare("/kubepods/pod1", { cpuRequest: 1000, cpuLimit: 1500, memoryLimit: 1024 });
    const read = (file: string) => readFile(join(group, file), "utf8");
    assert.equal(await read("cpu.weight"), "39");
    assert.equal(await read("cpu.max"), "150000 100000");
    assert.equal(await read("memory.max"), "1024");
    assert.equal(await readFile(join(root, "cgroup.subtree_control"), "utf8"), "+memory");
    await cgroups.prepare("/kubepods/pod1", {});
    assert.equal(await read("cpu.max"), "max");
    assert.equal(await read("memory.max"), "max");
  } finally {
    await rm(root, { recursive: true });
  }
});

test("a group is made beside others, and anew with those that it is in when they have gone", async () => {
  const root = await mkdtemp(join(tmpdir(), "cgroup-"));
  try {
    const cgroups = new PodCgroups([{ directory: root, version: 1 }], systemClock);
    const made = () => readdir(join(root, "kubepods/besteffort"));
    for (const pod of ["pod1", "pod2", "pod2"]) await cgroups.prepare(`/kubepods/besteffort/${pod}`, {});
    assert.deepEqual((await made()).toSorted(), ["pod1", "pod2"]);
    await rm(join(root, "kubepods"), { recursive: true });
    await cgroups.prepare("/kubepods/besteffort/pod3", {});
    assert.deepEqual(await made(), ["pod3"]);
  } finally {
    await rm(root, { recursive: true });
  }
});

test("a group that is not there has been removed", async () => {
  const cgroups = new PodCgroups([{ directory: "/sys/fs/cgroup", version: 2 }], systemClock);
  assert.equal(await cgroups.remove("/fjord-was-never-there"), true);
});
