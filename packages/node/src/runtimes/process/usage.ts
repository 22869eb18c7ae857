import { readFileSync } from "node:fs";
import type { Usage } from "../../runtime/stats.ts";
import type { MarkedProcess } from "./process-table.ts";

/** What the kernel counts in. */
export interface KernelUnits {
  readonly pageSize: number;
  readonly ticksPerSecond: number;
}

const AT_PAGESZ = 6n;
const AT_CLKTCK = 17n;

/** From what the kernel told this process at its start. */
export function kernelUnits(vector: Buffer = readFileSync("/proc/self/auxv")): KernelUnits {
  const values = new Map<bigint, number>();
  for (let at = 0; at + 16 <= vector.length; at += 16) {
    values.set(vector.readBigUInt64LE(at), Number(vector.readBigUInt64LE(at + 8) & 0xffff_ffffn));
  }
  return { pageSize: values.get(AT_PAGESZ) ?? 4096, ticksPerSecond: values.get(AT_CLKTCK) ?? 100 };
}

/** The sum over processes. What has ended counts where its parent, which has waited for it, is among them. */
export function usageOf(processes: readonly MarkedProcess[], units: KernelUnits, now: number): Usage {
  let ticks = 0;
  let pages = 0;
  for (const each of processes) {
    ticks += each.cpuTicks;
    pages += each.residentPages;
  }
  const bytes = pages * units.pageSize;
  return {
    time: now,
    cpuNanoseconds: Math.round((ticks / units.ticksPerSecond) * 1e9),
    rssBytes: bytes,
    workingSetBytes: bytes,
    usageBytes: bytes,
  };
}
