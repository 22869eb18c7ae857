import { readFileSync } from "node:fs";
import { type CpuInfo, cpus, freemem } from "node:os";

/** As `getconf CLK_TCK` says on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** The processor seconds of `/proc/PID/stat` that the process's ended children took, with what they waited for. */
export function childSeconds(stat: string): number {
  // The name of the program, in parentheses, may have spaces and parentheses of its own.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

/** What each child took of the processors: to be asked when it has ended. Undefined where the system does not tell. */
export class ChildSeconds {
  #before = secondsOfChildren();

  next(): number | undefined {
    const [before, now] = [this.#before, secondsOfChildren()];
    this.#before = now;
    return before === undefined || now === undefined ? undefined : now - before;
  }
}

function secondsOfChildren(): number | undefined {
  try {
    return childSeconds(readFileSync("/proc/self/stat", "utf8"));
  } catch {
    return undefined;
  }
}

export type ProcessorTimes = Pick<CpuInfo, "times">;

/** The share of their time between the two looks in which the processors had nothing to do. */
export function idleShare(before: readonly ProcessorTimes[], now: readonly ProcessorTimes[]): number {
  const sum = (all: readonly ProcessorTimes[], of: (times: CpuInfo["times"]) => number) =>
    all.reduce((total, { times }) => total + of(times), 0);
  const passed = (of: (times: CpuInfo["times"]) => number) => sum(now, of) - sum(before, of);
  const all = passed(({ user, nice, sys, irq, idle }) => user + nice + sys + irq + idle);
  return all <= 0 ? 0 : passed(({ idle }) => idle) / all;
}

/** Of the processors' time, that has to be left over for one more. */
const ENOUGH_IDLE = 0.12;
/** Of memory. */
const ENOUGH_BYTES = 4 * 2 ** 30;

/** Tells whether the machine has had so little to do since it was last asked that one more could run on it. */
export function roomOnMachine(): () => boolean {
  let before = cpus();
  return () => {
    const now = cpus();
    const idle = idleShare(before, now);
    before = now;
    return idle > ENOUGH_IDLE && freemem() > ENOUGH_BYTES;
  };
}
