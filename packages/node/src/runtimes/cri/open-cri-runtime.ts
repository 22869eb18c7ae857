import { readFile } from "node:fs/promises";
import { CriRuntime, type CriRuntimeOptions } from "./cri-runtime.ts";
import { cgroupMounts } from "./pod-cgroups.ts";

/** A runtime with the control groups of this machine. */
export async function openCriRuntime(options: Omit<CriRuntimeOptions, "cgroups">): Promise<CriRuntime> {
  return new CriRuntime({ ...options, cgroups: cgroupMounts(await readFile("/proc/mounts", "utf8")) });
}
