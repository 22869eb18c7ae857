import type { FileSystemUsage, MachineUsage } from "../machine-usage.ts";
import type { Observation, Observations, Signal } from "./thresholds.ts";

/** What thresholds are compared with, out of what was measured. */
export function observationsOf(
  machine: MachineUsage,
  memoryCapacity: number,
  nodeFs?: FileSystemUsage,
  imageFs?: FileSystemUsage,
): Observations {
  const observations = new Map<Signal, Observation>([
    ["memory.available", { available: machine.availableBytes, capacity: memoryCapacity }],
    ["pid.available", { available: machine.processLimit - machine.processes, capacity: machine.processLimit }],
  ]);
  for (const [name, usage] of [["nodefs", nodeFs] as const, ["imagefs", imageFs] as const]) {
    if (usage === undefined) continue;
    observations.set(`${name}.available`, { available: usage.availableBytes, capacity: usage.capacityBytes });
    // Some file systems make inodes as they need them, and count none.
    if (usage.inodes > 0)
      observations.set(`${name}.inodesFree`, { available: usage.inodesFree, capacity: usage.inodes });
  }
  return observations;
}
