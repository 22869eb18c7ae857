import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cgroupDirectories, cgroupMounts, createCgroups, daemonProcessFiles } from "./cgroups.ts";
test("groups are made in every hierarchy that is mounted, and nowhere else", () => {
    const mounts = `tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
/dev/vda / ext4 rw 0 0
`;
    const found = cgroupMounts(mounts);
    assert.deepEqual(found, ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/unified"]);
    assert.deepEqual(cgroupMounts("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"), ["/sys/fs/cgroup"]);
    assert.deepEqual(cgroupDirectories({ mounts: found.slice(0, 1), path: "/bed/node-1" }), [
        "/sys/fs/cgroup/pids/bed",
        "/sys/fs/cgroup/pids/bed/node-1",
    ]);
});
test("in version 2 every controller is passed on to the node's pods", async (t) => {
    const mount = await mkdtemp(join(tmpdir(), "cgroups-"));
    t.after(() => rm(mount, { recursive: true }));
    for (const path of ["bed/node-1", "bed", "."]) {
        await mkdir(join(mount, path), { recursive: true });
        await writeFile(join(mount, path, "cgroup.controllers"), "cpu memory pids\n");
    }
    await createCgroups({ mounts: [mount], path: "/bed/node-1" });
    for (const path of ["bed/node-1", "bed", "."]) {
        assert.equal(await readFile(join(mount, path, "cgroup.subtree_control"), "utf8"), "+cpu +memory +pids");
    }
});
test("a machine without control groups is told so", () => {
    assert.throws(() => cgroupMounts("/dev/vda / ext4 rw 0 0\n"), { code: "TESTBED_NO_CGROUPS" });
});
test("a group can take processes at once: it has the processors of its hierarchy", async (t) => {
    const mount = await mkdtemp(join(tmpdir(), "cgroups-"));
    t.after(() => rm(mount, { recursive: true }));
    // As the kernel does, which makes these files with the directory, empty but for the hierarchy's root.
    for (const path of ["bed/node-1/daemons", "bed/node-1", "bed", "."]) {
        await mkdir(join(mount, path), { recursive: true });
        await writeFile(join(mount, path, "cpuset.cpus"), path === "." ? "0-1\n" : "\n");
        await writeFile(join(mount, path, "cpuset.mems"), path === "." ? "0\n" : "\n");
    }
    const cgroup = { mounts: [mount], path: "/bed/node-1" };
    await createCgroups(cgroup);
    for (const path of ["bed", "bed/node-1", "bed/node-1/daemons"]) {
        assert.equal(await readFile(join(mount, path, "cpuset.cpus"), "utf8"), "0-1\n");
        assert.equal(await readFile(join(mount, path, "cpuset.mems"), "utf8"), "0\n");
    }
    assert.deepEqual(daemonProcessFiles(cgroup), [join(mount, "bed/node-1/daemons/cgroup.procs")]);
});
