import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { CgroupsV2, openCgroups, settingsV1, settingsV2 } from "./cgroups.ts";

const values = (settings: readonly { file: string; value: string }[]) =>
  Object.fromEntries(settings.map(({ file, value }) => [file, value]));

describe("limits", () => {
  test("of the first version", () => {
    assert.deepEqual(values(settingsV1({ cpuRequest: 500, cpuLimit: 1500, memoryLimit: 64 })), {
      "cpu.shares": "512",
      "cpu.cfs_quota_us": "150000",
      "memory.limit_in_bytes": "64",
    });
    assert.deepEqual(values(settingsV1({})), { "cpu.cfs_quota_us": "-1", "memory.limit_in_bytes": "-1" });
    assert.equal(values(settingsV1({ cpuRequest: 0, cpuLimit: 1 }))["cpu.cfs_quota_us"], "1000");
  });

  test("of the second version", () => {
    assert.deepEqual(values(settingsV2({ cpuRequest: 1000, cpuLimit: 100, memoryLimit: 64 })), {
      "cpu.weight": "39",
      "cpu.max": "10000 100000",
      "memory.max": "64",
    });
    assert.deepEqual(values(settingsV2({})), { "cpu.max": "max 100000", "memory.max": "max" });
  });
});

describe("control groups of the second version", () => {
  const root = mkdtempSync(join(tmpdir(), "fjord-cgroup-"));
  after(() => rmSync(root, { recursive: true, force: true }));
  const cgroups = new CgroupsV2(root);

  test("pass controllers on from the top, and take limits", () => {
    writeFileSync(join(root, "cgroup.subtree_control"), "");
    assert.deepEqual(cgroups.ensure("/kubepods/pod1/c", { memoryLimit: 1024 }), []);
    for (const folder of ["", "kubepods", "kubepods/pod1"]) {
      assert.match(readFileSync(join(root, folder, "cgroup.subtree_control"), "utf8"), /\+/);
    }
    assert.equal(readFileSync(join(root, "kubepods/pod1/c/memory.max"), "utf8"), "1024");
    assert.deepEqual(cgroups.entries("/kubepods/pod1/c"), [join(root, "kubepods/pod1/c/cgroup.procs")]);
    assert.equal(cgroups.keeperGroup("/kubepods/pod1"), "/kubepods/pod1/keepers");
  });

  test("tell processes, kills and usage", () => {
    const folder = join(root, "kubepods/pod1/c");
    mkdirSync(join(folder, "below"));
    writeFileSync(join(folder, "cgroup.procs"), "12\n0\n13\n");
    writeFileSync(join(folder, "below", "cgroup.procs"), "14\n");
    writeFileSync(join(folder, "memory.events"), "low 0\noom 2\noom_kill 1\n");
    writeFileSync(join(folder, "cpu.stat"), "usage_usec 1500\nuser_usec 1\n");
    writeFileSync(join(folder, "memory.current"), "1000\n");
    writeFileSync(join(folder, "memory.stat"), "anon 300\ninactive_file 400\npgfault 5\npgmajfault 6\n");
    assert.deepEqual(cgroups.processes("/kubepods/pod1/c"), [12, 13, 14]);
    assert.equal(cgroups.oomKills("/kubepods/pod1/c"), 1);
    assert.deepEqual(cgroups.usage("/kubepods/pod1/c", 9), {
      time: 9,
      cpuNanoseconds: 1_500_000,
      usageBytes: 1000,
      workingSetBytes: 600,
      rssBytes: 300,
      pageFaults: 5,
      majorPageFaults: 6,
    });
    assert.deepEqual(cgroups.processes("/kubepods/none"), []);
    assert.equal(cgroups.usage("/kubepods/none", 9), undefined);
    assert.equal(cgroups.remove("/kubepods/none"), true);
  });

  test("are told from those that can not be used", () => {
    assert.match(String(openCgroups("")), /no control groups/);
    const gone = `1 2 0:1 / ${root}/nowhere/memory rw - cgroup cgroup rw,memory\n`;
    assert.match(String(openCgroups(gone)), /can not be made here \(ENOENT\)/);
  });
});
