import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Clock, sleep } from "@fjord/base";
import type { ContainerResources } from "../../runtime/index.ts";
import { cpuQuota, cpuShares } from "./linux-resources.ts";

/** A hierarchy of control groups. */
export interface CgroupMount {
  readonly directory: string;
  readonly version: 1 | 2;
}

/** The hierarchies of a machine, from the text of /proc/mounts. */
export function cgroupMounts(mounts: string): CgroupMount[] {
  return mounts.split("\n").flatMap((line) => {
    const [, directory = "", type] = line.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") return [];
    return [{ directory, version: type === "cgroup" ? (1 as const) : (2 as const) }];
  });
}

/** Whether the machine has version 2 alone: with both, version 1 has the controllers. */
export function isUnified(mounts: readonly CgroupMount[]): boolean {
  return mounts.length > 0 && mounts.every((mount) => mount.version === 2);
}

/** The weight of version 2 for shares of version 1, by the mapping that runtimes use. */
export function cpuWeight(shares: number): number {
  return 1 + Math.floor(((shares - 2) * 9999) / 262_142);
}

/** How often a group is tried to be removed whose processes have been killed but have not gone. */
const TRIES = 40;
const PAUSE = 50;

/** The control groups that pods as a whole are in. */
export class PodCgroups {
  readonly #mounts: readonly CgroupMount[];
  readonly #clock: Clock;
  /** Groups that pods' groups are made in, as they should be since this process made sure of it. */
  readonly #parents = new Set<string>();

  constructor(mounts: readonly CgroupMount[], clock: Clock) {
    this.#mounts = mounts;
    this.#clock = clock;
  }

  get unified(): boolean {
    return isUnified(this.#mounts);
  }

  /** Makes a pod's group with its limits, before the runtime puts anything into it. */
  async prepare(path: string, resources: ContainerResources): Promise<void> {
    for (const mount of this.#mounts) {
      const directory = join(mount.directory, path);
      const isMade = this.#parents.has(dirname(directory)) && (await makeLeaf(directory));
      if (!isMade) await this.#makeAll(mount, path);
      await write(directory, limitsOf(resources, mount.version));
    }
  }

  async #makeAll(mount: CgroupMount, path: string): Promise<void> {
    await makeCgroup(mount, path);
    const parent = join(mount.directory, dirname(path));
    // Together, pods that ask for nothing weigh as little as one of them.
    if (basename(parent) === "besteffort") await write(parent, limitsOf({}, mount.version));
    this.#parents.add(parent);
  }

  /** Removes a pod's group under every controller, once its last processes have gone; false where they stay. */
  async remove(path: string): Promise<boolean> {
    for (let tries = TRIES; tries > 0; tries--) {
      if (await this.removeEmpty(path)) return true;
      await sleep(this.#clock, PAUSE);
    }
    return false;
  }

  /** Kills whatever is left in a group that nothing may be in any more, and removes it; false where something stays. */
  async clear(path: string): Promise<boolean> {
    if (await this.removeEmpty(path)) return true;
    for (const mount of this.#mounts) for (const pid of await processesIn(join(mount.directory, path))) kill(pid);
    return await this.remove(path);
  }

  /** The group that a runtime has made for a container, in that of its pod; the name depends on the runtime. */
  async groupOf(container: string, pod: string): Promise<string | undefined> {
    for (const { directory } of this.#mounts) {
      const name = (await namesIn(join(directory, pod))).find((each) => each.includes(container));
      if (name !== undefined) return join(pod, name);
    }
    return undefined;
  }

  /** As `remove`, without waiting for anything. */
  async removeEmpty(path: string): Promise<boolean> {
    const gone = await Promise.all(this.#mounts.map((mount) => removeTree(join(mount.directory, path))));
    return gone.every((each) => each);
  }
}

/** Of the group and of those in it. */
async function processesIn(directory: string): Promise<number[]> {
  const own = await readIfThere(join(directory, "cgroup.procs"));
  const below = await Promise.all((await namesIn(directory)).map((name) => processesIn(join(directory, name))));
  // What another namespace of processes has is shown as 0.
  return [...own.split("\n").map(Number), ...below.flat()].filter((pid) => pid > 0);
}

/** Of the groups in a group. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function readIfThere(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}

/** A group that goes while it is read says so in two ways. */
function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENODEV";
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Those of the settings that the hierarchy has. */
async function write(directory: string, settings: readonly [file: string, value: string][]): Promise<void> {
  for (const [file, value] of settings) {
    if (existsSync(join(directory, file))) await writeFile(join(directory, file), value);
  }
}

function limitsOf(resources: ContainerResources, version: 1 | 2): [file: string, value: string][] {
  const shares = cpuShares(resources.cpuRequest ?? resources.cpuLimit);
  const quota = cpuQuota(resources.cpuLimit);
  const memory = resources.memoryLimit;
  if (version === 1) {
    return [
      ["cpu.shares", `${shares}`],
      ["cpu.cfs_quota_us", quota > 0 ? `${quota}` : "-1"],
      ["memory.limit_in_bytes", memory === undefined ? "-1" : `${memory}`],
    ];
  }
  return [
    ["cpu.weight", `${cpuWeight(shares)}`],
    ["cpu.max", quota > 0 ? `${quota} 100000` : "max"],
    ["memory.max", memory === undefined ? "max" : `${memory}`],
  ];
}

/** Makes a group, and those that it is in, so that processes can be put into it. */
export async function makeCgroup(mount: CgroupMount, path: string): Promise<void> {
  let directory = mount.directory;
  for (const part of path.split("/").filter((each) => each !== "")) {
    if (mount.version === 2) await passControllersOn(directory);
    directory = join(directory, part);
    if (existsSync(directory)) continue;
    await mkdir(directory, { recursive: true });
    await inheritCpuset(directory);
  }
}

/** Makes a group in one that is as it should be; false where it is there already, or that one is not. */
async function makeLeaf(directory: string): Promise<boolean> {
  try {
    await mkdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOENT") return false;
    throw error;
  }
  await inheritCpuset(directory);
  return true;
}

/** A group of version 2 has the controllers that its parent passes on. */
async function passControllersOn(directory: string): Promise<void> {
  const controllers = await readFile(join(directory, "cgroup.controllers"), "utf8");
  const passed = await readFile(join(directory, "cgroup.subtree_control"), "utf8");
  const has = new Set(passed.trim().split(/\s+/));
  const missing = controllers
    .trim()
    .split(/\s+/)
    .filter((name) => name !== "" && !has.has(name));
  if (missing.length === 0) return;
  await writeFile(join(directory, "cgroup.subtree_control"), missing.map((name) => `+${name}`).join(" "));
}

/** A new group of version 1 has no processors and no memory nodes, and takes no process until it has. */
async function inheritCpuset(directory: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const own = join(directory, file);
    if (!existsSync(own) || (await readFile(own, "utf8")).trim() !== "") continue;
    const inherited = await readFile(join(dirname(directory), file), "utf8");
    if (inherited.trim() !== "") await writeFile(own, inherited);
  }
}

/** True once the group and those in it are gone. One with processes in it cannot be removed, so none is lost. */
async function removeTree(directory: string): Promise<boolean> {
  try {
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) await removeTree(join(directory, entry.name));
    }
    await rmdir(directory);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return true;
    if (code === "EBUSY" || code === "ENOTEMPTY") return false;
    throw error;
  }
}
