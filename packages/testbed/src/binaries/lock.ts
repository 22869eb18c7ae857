import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { type Clock, sleep } from "@fjord/base";

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

export interface LockOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called at once and then every few seconds while another process holds the lock. */
  readonly onWait?: (pid: number, seconds: number) => void;
}

const POLL_MS = 500;
const TELL_EVERY_MS = 10_000;
const BEAT_MS = 10_000;
/** A holder on another host, or in another container, shows its life only by touching the file. */
const SILENCE_MS = 120_000;

/**
 * Runs `work` while holding the lock file, waiting for whoever holds it. The lock of a process that died is taken over.
 * It saves work being done twice; what makes two workers harmless is that each moves finished files into place.
 */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const token = await acquire(path, options);
  let cancelBeat = () => {};
  const beat = () => {
    cancelBeat = options.clock.after(BEAT_MS, () => {
      if (readHolder(path)?.token === token) touch(path, options.clock);
      beat();
    });
  };
  beat();
  try {
    return await work();
  } finally {
    cancelBeat();
    if (readHolder(path)?.token === token) rmSync(path, { force: true });
  }
}

async function acquire(path: string, { clock, signal, onWait }: LockOptions): Promise<string> {
  mkdirSync(dirname(path), { recursive: true });
  const start = clock.now();
  let told = Number.NEGATIVE_INFINITY;
  for (;;) {
    signal.throwIfAborted();
    const token = create(path, clock);
    if (token !== undefined) return token;
    const holder = readHolder(path);
    if (holder !== undefined && !isStale(path, holder, clock)) {
      if (clock.now() - told >= TELL_EVERY_MS) {
        told = clock.now();
        onWait?.(holder.pid, (told - start) / 1000);
      }
      await sleep(clock, POLL_MS, signal);
    } else if (holder !== undefined) {
      takeOver(path, holder);
    }
  }
}

/** The file appears with its content, by link: a reader never sees a lock without its holder. */
function create(path: string, clock: Clock): string | undefined {
  const holder: Holder = { pid: process.pid, host: hostname(), token: randomUUID() };
  const draft = `${path}.${holder.token}`;
  writeFileSync(draft, `${JSON.stringify(holder)}\n`);
  touch(draft, clock);
  try {
    linkSync(draft, path);
    return holder.token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Holder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    // Only something other than this code can have written that; nobody holds it.
    if (error instanceof SyntaxError) return { pid: 0, host: hostname(), token: "" };
    throw error;
  }
}

function isStale(path: string, { pid, host }: Holder, clock: Clock): boolean {
  if (host === hostname() && !isAlive(pid)) return true;
  const touched = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return touched !== undefined && clock.now() - touched > SILENCE_MS;
}

/** Whether a process of that id exists here. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Of several who see the same stale lock, one gets to rename it. Who thereby moved a newcomer's lock puts it back. */
function takeOver(path: string, stale: Holder): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
    if (readHolder(aside)?.token !== stale.token) linkSync(aside, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function touch(path: string, clock: Clock): void {
  const now = clock.now() / 1000;
  utimesSync(path, now, now);
}
