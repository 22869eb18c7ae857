import { existsSync, readdirSync, readFileSync } from "node:fs";

/** A process as nothing else can be mistaken for it: a pid alone is used again once its process has ended. */
export interface ProcessIdentity {
  pid: number;
  /** The boot and the clock tick in which the process began. */
  started: string;
}

/** The process that has this pid now; undefined when there is none, or when only its exit status is left of it. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command name, in parentheses, may itself hold spaces and parentheses: everything after the last one is fields.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // The first thread may have ended while others, killed at the same moment, still hold ports and files.
  const ended = fields[0] === "X" || (fields[0] === "Z" && Number(fields[17]) <= 1);
  if (ended) return undefined;
  return { pid, started: `${bootId()}/${fields[19]}` };
}

/** A process that was started with this very argument. */
export function findProcess(argument: string): ProcessIdentity | undefined {
  for (const pid of existsSync("/proc") ? readdirSync("/proc") : []) {
    const words = /^\d+$/.test(pid) ? readProc(`/proc/${pid}/cmdline`)?.split("\0") : undefined;
    const found = words?.includes(argument) ? identify(Number(pid)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.started === identity.started;
}

/** Whether the process is stopped by SIGSTOP. */
export function isPaused(identity: ProcessIdentity): boolean {
  const stat = readProc(`/proc/${identity.pid}/stat`);
  return stat !== undefined && isAlive(identity) && stat[stat.lastIndexOf(")") + 2] === "T";
}

/** Sends a signal to that very process; false when it has ended. */
export function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    return process.kill(identity.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Resident memory in bytes; 0 when the process has ended. */
export function residentMemory(identity: ProcessIdentity): number {
  if (!isAlive(identity)) return 0;
  const line = readProc(`/proc/${identity.pid}/status`)?.match(/^VmRSS:\s+(\d+) kB$/m);
  return line ? Number(line[1]) * 1024 : 0;
}

function bootId(): string {
  return readProc("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

/** A file of /proc, or undefined when its process ended before or while it was read. */
export function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES") return undefined;
    throw error;
  }
}
