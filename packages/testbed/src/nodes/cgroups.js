import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { NoCgroupsError } from "./errors.ts";
/** The mount points on which a node's control groups are made, from the text of /proc/mounts. */
export function cgroupMounts(mounts) {
    const found = mounts
        .split("\n")
        .map((line) => line.split(" "))
        // Where both versions are mounted, the kubelet uses the first, but runc also makes groups in the second.
        .filter((fields) => fields[2] === "cgroup" || fields[2] === "cgroup2")
        .map((fields) => fields[1]);
    if (found.length === 0)
        throw new NoCgroupsError({});
    return found;
}
/** Directories to record before they are made, outer ones first. */
export function cgroupDirectories({ mounts, path }) {
    return mounts.flatMap((mount) => [join(mount, dirname(path)), join(mount, path)]);
}
/** The files that a daemon writes its pid to before it starts. */
export function daemonProcessFiles({ mounts, path }) {
    return mounts.map((mount) => join(mount, path, "daemons", "cgroup.procs"));
}
/** Makes the groups under every controller: the kubelet does not start where one is missing. */
export async function createCgroups({ mounts, path }) {
    for (const mount of mounts) {
        for (const each of [dirname(path), path, join(path, "daemons")]) {
            const directory = join(mount, each);
            await mkdir(directory, { recursive: true });
            await inheritCpuset(mount, directory);
        }
        for (const each of ["/", dirname(path), path])
            await passControllersOn(join(mount, each));
    }
}
/** In version 2 a group has the controllers that its parent passes on, and the kubelet looks for them. */
async function passControllersOn(directory) {
    const file = join(directory, "cgroup.controllers");
    if (!existsSync(file))
        return;
    const controllers = (await readFile(file, "utf8")).split(/\s+/).filter((name) => name !== "");
    if (controllers.length === 0)
        return;
    await writeFile(join(directory, "cgroup.subtree_control"), controllers.map((name) => `+${name}`).join(" "));
}
/** A new group of version 1 has no processors and no memory nodes, and takes no process until it has. */
async function inheritCpuset(mount, directory) {
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
        if (!existsSync(join(mount, file)))
            continue;
        if ((await readFile(join(directory, file), "utf8")).trim() !== "")
            continue;
        await writeFile(join(directory, file), await readFile(join(mount, file), "utf8"));
    }
}
