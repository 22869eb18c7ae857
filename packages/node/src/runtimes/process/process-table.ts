import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { constants } from "node:os";

/** A process as nothing else can be mistaken for it: pids are used again, but not within one clock tick. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since the machine's start. */
  readonly started: string;
}

export interface ProcessStat extends ProcessIdentity {
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  /** Device number of the terminal it belongs to; 0 for none. */
  readonly terminal: number;
  /** Clock ticks, with those of the children it has waited for. */
  readonly cpuTicks: number;
  readonly residentPages: number;
}

/** The marks that a process of ours carries in its environment. */
export interface ProcessMarks {
  readonly pod?: string;
  readonly container?: string;
  /** It is one of the helpers that keep a container, not of the container itself. */
  readonly keeper: boolean;
}

export const POD_MARK = "FJORD_POD_UID";
export const CONTAINER_MARK = "FJORD_CONTAINER";
export const KEEPER_MARK = "FJORD_KEEPER";

export function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Undefined where there is no such process, or only its exit status is left. */
export function readStat(pid: number): ProcessStat | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat === undefined ? undefined : parseStat(stat);
}

export function parseStat(stat: string): ProcessStat | undefined {
  // The name, in parentheses, may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0] ?? "X";
  // The first thread may have ended while others still run.
  if (state === "X" || (state === "Z" && Number(fields[17]) <= 1)) return undefined;
  return {
    pid: Number.parseInt(stat, 10),
    started: fields[19] ?? "",
    state,
    parent: Number(fields[1]),
    session: Number(fields[3]),
    terminal: Number(fields[4]),
    cpuTicks: [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0),
    residentPages: Number(fields[21]),
  };
}

export function isAlive(process: ProcessIdentity): boolean {
  return readStat(process.pid)?.started === process.started;
}

/** The first of the signals without a meaning of their own, on Linux. */
const SIGRTMIN = 34;

/** Of a signal as pods name it: `SIGTERM`, `SIGRTMIN+3`. What is unknown asks as usual. */
export function signalNumber(name: string): number {
  const known = constants.signals[name as NodeJS.Signals];
  if (known !== undefined) return known;
  const realTime = /^SIGRTM(IN|AX)(?:([+-])(\d+))?$/.exec(name);
  if (!realTime) return constants.signals.SIGTERM;
  const base = realTime[1] === "IN" ? SIGRTMIN : 64;
  const step = Number(realTime[3] ?? 0);
  return realTime[2] === "-" ? base - step : base + step;
}

/** Sends a signal to that very process; false where it has ended. */
export function sendSignal(target: ProcessIdentity, signal: NodeJS.Signals | number): boolean {
  if (!isAlive(target)) return false;
  try {
    return process.kill(target.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

export function parseMarks(environ: string): ProcessMarks | undefined {
  if (!environ.includes(`${POD_MARK}=`)) return undefined;
  let pod: string | undefined;
  let container: string | undefined;
  let keeper = false;
  for (const entry of environ.split("\0")) {
    if (entry.startsWith(`${POD_MARK}=`)) pod = entry.slice(POD_MARK.length + 1);
    else if (entry.startsWith(`${CONTAINER_MARK}=`)) container = entry.slice(CONTAINER_MARK.length + 1);
    else if (entry.startsWith(`${KEEPER_MARK}=`)) keeper = true;
  }
  return pod === undefined ? undefined : { pod, ...(container === undefined ? {} : { container }), keeper };
}

export interface MarkedProcess extends ProcessStat, ProcessMarks {}

/**
 * Every process of this machine that carries our marks, or descends from or shares a session with one that does: a
 * program may have cleared its environment.
 */
export function scanProcesses(): MarkedProcess[] {
  const stats = new Map<number, ProcessStat>();
  const marks = new Map<number, ProcessMarks>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!(pid > 0)) continue;
    const stat = readStat(pid);
    if (!stat) continue;
    stats.set(pid, stat);
    const found = parseMarks(readProc(`/proc/${pid}/environ`) ?? "");
    if (found) marks.set(pid, found);
  }
  return inheritMarks(stats, marks);
}

/** Marks go down to children, and to the sessions that marked processes of containers lead. */
export function inheritMarks(
  stats: ReadonlyMap<number, ProcessStat>,
  marks: ReadonlyMap<number, ProcessMarks>,
): MarkedProcess[] {
  const known = new Map(marks);
  const markOf = (stat: ProcessStat): ProcessMarks | undefined => {
    const path: ProcessStat[] = [];
    let found: ProcessMarks | undefined;
    for (let at: ProcessStat | undefined = stat; at && path.length < 64; at = stats.get(at.parent)) {
      found = known.get(at.pid);
      if (found) break;
      path.push(at);
      const leader = at.session === at.pid ? undefined : known.get(at.session);
      if (leader) {
        found = leader;
        break;
      }
    }
    // A child of a keeper that lost its marks is a program of the container: helpers keep theirs.
    if (found && path.length > 0) found = { ...found, keeper: false };
    if (found) for (const each of path) known.set(each.pid, found);
    return found;
  };
  const result: MarkedProcess[] = [];
  for (const stat of stats.values()) {
    const found = markOf(stat);
    if (found) result.push({ ...stat, ...found });
  }
  return result;
}

/** A file of /proc; undefined where its process has ended, or belongs to someone else. */
export function readProc(path: string): string | undefined {
  return ofOthers(() => readFileSync(path, "latin1"));
}

/** Where a process stands, though the folder may be gone; undefined as above. */
export function workingDirectory(pid: number): string | undefined {
  return ofOthers(() => readlinkSync(`/proc/${pid}/cwd`));
}

function ofOthers(read: () => string): string | undefined {
  try {
    return read();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return undefined;
    throw error;
  }
}
