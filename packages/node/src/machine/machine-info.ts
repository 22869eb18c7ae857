import { arch, platform, release } from "node:os";
import { architectureOf } from "../registration/node-labels.ts";
import { type MachineRoot, systemFile } from "./system-file.ts";

/** What `status.nodeInfo` tells of the machine itself. */
export interface MachineInfo {
  readonly architecture: string;
  readonly operatingSystem: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly machineID: string;
  readonly bootID: string;
  readonly systemUUID: string;
}

export async function readMachineInfo(options: MachineRoot = {}): Promise<MachineInfo> {
  const read = async (...paths: string[]) => {
    for (const path of paths) {
      const text = (await systemFile(options, path))?.trim();
      if (text) return text;
    }
    return "";
  };
  const machineID = await read("etc/machine-id", "var/lib/dbus/machine-id");
  const osRelease = await read("etc/os-release", "usr/lib/os-release");
  return {
    architecture: architectureOf(arch()),
    operatingSystem: platform(),
    kernelVersion: release(),
    osImage: osImageOf(osRelease) ?? platform(),
    machineID,
    bootID: await read("proc/sys/kernel/random/boot_id"),
    // Only root may read the first; boards without firmware tables have the second.
    systemUUID:
      (await read("sys/class/dmi/id/product_uuid", "proc/device-tree/vm,uuid", "etc/machine-id")) || machineID,
  };
}

/** `PRETTY_NAME` of an os-release file. */
export function osImageOf(osRelease: string): string | undefined {
  return /^PRETTY_NAME=(?:"([^"]*)"|'([^']*)'|(.*))$/m.exec(osRelease)?.slice(1).find(Boolean);
}
