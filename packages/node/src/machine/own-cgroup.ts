import { join } from "node:path";
import { type MachineRoot, systemFile } from "./system-file.ts";

/** Limits of the control group that this process is in, where it has any: a node may itself live in a container. */
export interface OwnCgroup {
  /** Thousandths of a processor. */
  readonly cpuLimit?: number;
  readonly memoryLimit?: number;
  readonly pidsLimit?: number;
}

/** Beyond this, version 1 means that there is no limit. */
const UNLIMITED = 2 ** 60;

export async function readOwnCgroup(options: MachineRoot = {}): Promise<OwnCgroup> {
  const lines = ((await systemFile(options, "proc/self/cgroup")) ?? "").trim().split("\n");
  const unified = (await systemFile(options, "sys/fs/cgroup/cgroup.controllers")) !== undefined;
  return unified ? readUnified(options, pathOf(lines, "")) : readSeparate(options, lines);
}

async function readUnified(options: MachineRoot, path: string): Promise<OwnCgroup> {
  const read = (file: string) => systemFile(options, join("sys/fs/cgroup", path, file));
  const [quota, period] = ((await read("cpu.max")) ?? "max").trim().split(" ").map(Number);
  return limits(
    ratio(quota, period),
    Number((await read("memory.max")) ?? Number.NaN),
    Number((await read("pids.max")) ?? Number.NaN),
  );
}

async function readSeparate(options: MachineRoot, lines: readonly string[]): Promise<OwnCgroup> {
  const read = async (controller: string, file: string) =>
    Number(
      (await systemFile(options, join("sys/fs/cgroup", controller, pathOf(lines, controller), file))) ?? Number.NaN,
    );
  return limits(
    ratio(await read("cpu", "cpu.cfs_quota_us"), await read("cpu", "cpu.cfs_period_us")),
    await read("memory", "memory.limit_in_bytes"),
    await read("pids", "pids.max"),
  );
}

function ratio(quota: number | undefined, period: number | undefined): number {
  return quota !== undefined && period !== undefined && quota > 0 ? Math.floor((quota / period) * 1000) : Number.NaN;
}

function limits(cpu: number, memory: number, pids: number): OwnCgroup {
  return {
    ...(cpu > 0 && { cpuLimit: cpu }),
    ...(memory > 0 && memory < UNLIMITED && { memoryLimit: memory }),
    ...(pids > 0 && { pidsLimit: pids }),
  };
}

/** `4:memory:/a/b` gives `/a/b` for `memory`; `0::/a` for the empty name. */
function pathOf(lines: readonly string[], controller: string): string {
  for (const line of lines) {
    const [, controllers = "", ...path] = line.split(":");
    if (controllers.split(",").includes(controller)) return path.join(":");
  }
  return "";
}
