import { readFileSync } from "node:fs";

/** Clock ticks of /proc in a second, on every Linux there is. */
const TICKS = 100;

/** Processor time that a process has used so far. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
