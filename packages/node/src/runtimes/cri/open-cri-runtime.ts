import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { CriRuntime, type CriRuntimeOptions } from "./cri-runtime.ts";
import { cgroupMounts } from "./pod-cgroups.ts";

/** A runtime with what it must know of the machine, as this one has it. */
export async function openCriRuntime(
  options: Omit<CriRuntimeOptions, "cgroups" | "appArmor" | "seLinux">,
): Promise<CriRuntime> {
  const cgroups = cgroupMounts(await readFile("/proc/mounts", "utf8"));
  return new CriRuntime({ ...options, cgroups, appArmor: await hasAppArmor(), seLinux: hasSeLinux() });
}

async function hasAppArmor(): Promise<boolean> {
  try {
    return (await readFile("/sys/module/apparmor/parameters/enabled", "utf8")).startsWith("Y");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

function hasSeLinux(): boolean {
  return existsSync("/sys/fs/selinux/enforce");
}
