import type { ConditionFacts } from "../../registration/node-facts.ts";
import type { Signal } from "./thresholds.ts";

export type Pressure = "MemoryPressure" | "DiskPressure" | "PIDPressure";

export const pressures: readonly Pressure[] = ["MemoryPressure", "DiskPressure", "PIDPressure"];

/** What a signal that is too low means for the node as a whole. */
export function pressureOf(signal: Signal): Pressure {
  if (signal === "memory.available") return "MemoryPressure";
  return signal === "pid.available" ? "PIDPressure" : "DiskPressure";
}

const words: Readonly<Record<Pressure, { yes: [string, string]; no: [string, string] }>> = {
  MemoryPressure: {
    yes: ["KubeletHasInsufficientMemory", "memory is short"],
    no: ["KubeletHasSufficientMemory", "there is enough memory"],
  },
  DiskPressure: {
    yes: ["KubeletHasDiskPressure", "disk space is short"],
    no: ["KubeletHasNoDiskPressure", "there is enough disk space"],
  },
  PIDPressure: {
    yes: ["KubeletHasInsufficientPID", "process ids are short"],
    no: ["KubeletHasSufficientPID", "there are enough process ids"],
  },
};

/** The conditions of a node under these pressures. */
export function pressureConditions(present: ReadonlySet<Pressure>): ConditionFacts[] {
  return pressures.map((type) => {
    const [reason, message] = words[type][present.has(type) ? "yes" : "no"];
    return { type, status: present.has(type) ? "True" : "False", reason, message };
  });
}
