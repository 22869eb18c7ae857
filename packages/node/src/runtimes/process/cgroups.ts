import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ContainerResources } from "../../runtime/resources.ts";
import type { Usage } from "../../runtime/stats.ts";
import { ifThere, readText } from "./files.ts";
import { makeGroup } from "./make-group.ts";
import { parseMountInfo } from "./mount-plan.ts";

/** The control groups of a machine, in either of the kernel's two ways. Paths are as `SandboxConfig.cgroupParent`. */
export interface Cgroups {
  /** Makes a group, or sets its limits anew; what the machine can not limit is told. */
  ensure(path: string, resources: ContainerResources): string[];
  /** Where the keepers of a pod's containers go, so that they are not counted as the containers'. */
  keeperGroup(pod: string): string;
  /** Files that a process writes 0 to, to enter the group. */
  entries(path: string): string[];
  /** Of the group and all below. */
  processes(path: string): number[];
  oomKills(path: string): number;
  usage(path: string, now: number): Usage | undefined;
  /** Removes the group and all below; false while there are processes in it. */
  remove(path: string): boolean;
  /** Removes a group only where there is none below. */
  removeEmpty(path: string): boolean;
}

/** What a file of a control group is to hold. */
export interface CgroupSetting {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
}

const PERIOD = 100_000;

/** Limits as the first version of control groups takes them. */
export function settingsV1(resources: ContainerResources): CgroupSetting[] {
  const settings: CgroupSetting[] = [];
  if (resources.cpuRequest !== undefined) {
    const shares = Math.min(262_144, Math.max(2, Math.floor((resources.cpuRequest * 1024) / 1000)));
    settings.push({ controller: "cpu", file: "cpu.shares", value: String(shares) });
  }
  const quota = resources.cpuLimit === undefined ? -1 : cpuQuota(resources.cpuLimit);
  settings.push({ controller: "cpu", file: "cpu.cfs_quota_us", value: String(quota) });
  const memory = resources.memoryLimit === undefined ? -1 : resources.memoryLimit;
  settings.push({ controller: "memory", file: "memory.limit_in_bytes", value: String(memory) });
  return settings;
}

/** The same for the second version. */
export function settingsV2(resources: ContainerResources): CgroupSetting[] {
  const settings: CgroupSetting[] = [];
  if (resources.cpuRequest !== undefined) {
    const shares = Math.min(262_144, Math.max(2, Math.floor((resources.cpuRequest * 1024) / 1000)));
    const weight = Math.floor(1 + ((shares - 2) * 9999) / 262_142);
    settings.push({ controller: "cpu", file: "cpu.weight", value: String(weight) });
  }
  const quota = resources.cpuLimit === undefined ? "max" : String(cpuQuota(resources.cpuLimit));
  settings.push({ controller: "cpu", file: "cpu.max", value: `${quota} ${PERIOD}` });
  const memory = resources.memoryLimit === undefined ? "max" : String(resources.memoryLimit);
  settings.push({ controller: "memory", file: "memory.max", value: memory });
  return settings;
}

function cpuQuota(millis: number): number {
  return Math.max(1000, Math.floor((millis * PERIOD) / 1000));
}

/** Finds the control groups that this process may use; undefined with the reason where there are none. */
export function openCgroups(mountInfo = readFileSync("/proc/self/mountinfo", "utf8")): Cgroups | string {
  const mounts = parseMountInfo(mountInfo);
  const v2 = mounts.find((mount) => mount.type === "cgroup2");
  const v1 = new Map<string, string>();
  for (const mount of mounts.filter(({ type }) => type === "cgroup")) {
    for (const name of ["memory", "cpu", "cpuacct"]) {
      if (mount.path.split("/").at(-1)?.split(",").includes(name)) v1.set(name, mount.path);
    }
  }
  const unified = v2 && /\b(memory|cpu)\b/.test(readText(join(v2.path, "cgroup.controllers")) ?? "");
  if (!unified && v1.size === 0) return "this machine has no control groups";
  const roots = unified ? [v2.path] : [...new Set(v1.values())];
  const probe = `fjord-probe-${randomUUID()}`;
  try {
    for (const root of roots) {
      mkdirSync(join(root, probe));
      rmdirSync(join(root, probe));
    }
  } catch (error) {
    return `control groups can not be made here (${(error as NodeJS.ErrnoException).code})`;
  }
  return unified ? new CgroupsV2(v2.path) : new CgroupsV1(v1);
}

class CgroupsV1 implements Cgroups {
  readonly #roots: ReadonlyMap<string, string>;
  readonly #hierarchies: readonly string[];

  constructor(roots: ReadonlyMap<string, string>) {
    this.#roots = roots;
    this.#hierarchies = [...new Set(roots.values())];
  }

  ensure(path: string, resources: ContainerResources): string[] {
    try {
      for (const root of this.#hierarchies) makeGroup(join(root, path));
    } catch (error) {
      // What was made in other hierarchies would stay behind: nobody knows of it.
      this.removeEmpty(path);
      throw error;
    }
    return apply(settingsV1(resources), (controller) => {
      const root = this.#roots.get(controller);
      return root === undefined ? undefined : join(root, path);
    });
  }

  keeperGroup(pod: string): string {
    return pod;
  }

  entries(path: string): string[] {
    return this.#hierarchies.map((root) => join(root, path, "cgroup.procs"));
  }

  processes(path: string): number[] {
    return [...new Set(this.#hierarchies.flatMap((root) => processesBelow(join(root, path))))];
  }

  oomKills(path: string): number {
    return number(this.#read("memory", path, "memory.oom_control"), "oom_kill");
  }

  usage(path: string, now: number): Usage | undefined {
    const cpu = this.#read("cpuacct", path, "cpuacct.usage");
    const memory = this.#read("memory", path, "memory.usage_in_bytes");
    if (cpu === undefined && memory === undefined) return undefined;
    const stat = this.#read("memory", path, "memory.stat");
    const usageBytes = Number(memory ?? 0);
    return {
      time: now,
      cpuNanoseconds: Number(cpu ?? 0),
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - number(stat, "total_inactive_file")),
      rssBytes: number(stat, "total_rss"),
      pageFaults: number(stat, "total_pgfault"),
      majorPageFaults: number(stat, "total_pgmajfault"),
    };
  }

  remove(path: string): boolean {
    return this.#hierarchies.map((root) => removeGroup(join(root, path))).every((gone) => gone);
  }

  removeEmpty(path: string): boolean {
    return this.#hierarchies.map((root) => removeOne(join(root, path))).every((gone) => gone);
  }

  #read(controller: string, path: string, file: string): string | undefined {
    const root = this.#roots.get(controller);
    return root === undefined ? undefined : readText(join(root, path, file));
  }
}

export class CgroupsV2 implements Cgroups {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  ensure(path: string, resources: ContainerResources): string[] {
    const folder = join(this.#root, path);
    makeGroup(folder);
    // From the top down, since a group can only pass on what it was given.
    this.#enable(dirname(folder));
    return apply(settingsV2(resources), () => folder);
  }

  #enable(folder: string): void {
    if (folder.length > this.#root.length) this.#enable(dirname(folder));
    const has = readText(join(folder, "cgroup.subtree_control")) ?? "";
    for (const controller of ["cpu", "memory", "pids"]) {
      if (has.includes(controller)) continue;
      try {
        writeFileSync(join(folder, "cgroup.subtree_control"), `+${controller}`);
      } catch {
        // The limit that needs this controller is then told as one that the machine can not set.
      }
    }
  }

  keeperGroup(pod: string): string {
    // A group with groups below can not have processes of its own.
    return join(pod, "keepers");
  }

  entries(path: string): string[] {
    return [join(this.#root, path, "cgroup.procs")];
  }

  processes(path: string): number[] {
    return processesBelow(join(this.#root, path));
  }

  oomKills(path: string): number {
    return number(readText(join(this.#root, path, "memory.events")), "oom_kill");
  }

  usage(path: string, now: number): Usage | undefined {
    const folder = join(this.#root, path);
    const cpu = readText(join(folder, "cpu.stat"));
    if (cpu === undefined) return undefined;
    const memory = readText(join(folder, "memory.current"));
    const stat = readText(join(folder, "memory.stat"));
    const cpuNanoseconds = number(cpu, "usage_usec") * 1000;
    if (memory === undefined) return { time: now, cpuNanoseconds };
    const usageBytes = Number(memory);
    return {
      time: now,
      cpuNanoseconds,
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - number(stat, "inactive_file")),
      rssBytes: number(stat, "anon"),
      pageFaults: number(stat, "pgfault"),
      majorPageFaults: number(stat, "pgmajfault"),
    };
  }

  remove(path: string): boolean {
    return removeGroup(join(this.#root, path));
  }

  removeEmpty(path: string): boolean {
    return removeOne(join(this.#root, path));
  }
}

function apply(settings: readonly CgroupSetting[], folderOf: (controller: string) => string | undefined): string[] {
  const notes: string[] = [];
  for (const { controller, file, value } of settings) {
    const folder = folderOf(controller);
    try {
      if (folder === undefined) throw new Error("the controller is missing");
      writeFileSync(join(folder, file), value);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      // "Not limited" is what holds where nothing can be written.
      if (value === "-1" || value.startsWith("max")) continue;
      notes.push(`${file} can not be set to ${value} (${code ?? (error as Error).message})`);
    }
  }
  return notes;
}

function processesBelow(folder: string): number[] {
  const own = readText(join(folder, "cgroup.procs"));
  if (own === undefined) return [];
  const below = (ifThere(() => readdirSync(folder, { withFileTypes: true })) ?? []).filter((each) =>
    each.isDirectory(),
  );
  const found = [...own.split("\n").map(Number), ...below.flatMap((each) => processesBelow(join(folder, each.name)))];
  // What another namespace of processes has is shown as 0, which stands for one's own group where it is killed.
  return found.filter((pid) => pid > 0);
}

function removeGroup(folder: string): boolean {
  const entries = ifThere(() => readdirSync(folder, { withFileTypes: true }));
  if (!entries) return true;
  const below = entries.filter((each) => each.isDirectory()).map((each) => removeGroup(join(folder, each.name)));
  return below.every((gone) => gone) && removeOne(folder);
}

function removeOne(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return true;
    if (code === "EBUSY" || code === "ENOTEMPTY") return false;
    throw error;
  }
}

/** The number after a name, in a file of such lines. */
function number(text: string | undefined, name: string): number {
  const match = text === undefined ? undefined : new RegExp(`^${name} (\\d+)$`, "m").exec(text);
  return match ? Number(match[1]) : 0;
}
