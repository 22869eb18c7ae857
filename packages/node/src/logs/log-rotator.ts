import { rename, rm, stat } from "node:fs/promises";
import { type Clock, describeError, type Logger, sleep, systemClock } from "@fjord/base";
import { inodeOf, isMissing, logFiles, rotatedFiles } from "./log-files.ts";

export interface RotatedLog {
  /** What `reopen` gets. */
  readonly id: string;
  /** Absolute path of the file that is written. */
  readonly file: string;
}

export interface LogRotatorOptions {
  /** Logs that are being written now. */
  logs(signal: AbortSignal): Promise<readonly RotatedLog[]>;
  /** Asks the writer to go on in a new file at the same path. */
  reopen(id: string, signal: AbortSignal): Promise<void>;
  /** Bytes. @default 10 Mi */
  maxSize?: number;
  /** Files of one log, the one that is written among them. @default 5 */
  maxFiles?: number;
  /** @default 10000 */
  intervalMs?: number;
  log: Logger;
  clock?: Clock;
}

/** Keeps logs from filling the disk: renames those that are too large, lets their writers begin anew, removes the oldest. */
export class LogRotator {
  readonly #options: LogRotatorOptions;
  readonly #clock: Clock;

  constructor(options: LogRotatorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.rotateAll(signal);
      await sleep(this.#clock, this.#options.intervalMs ?? 10_000, signal);
    }
  }

  /** Looks at all logs once. What fails for one is tried again the next time. */
  async rotateAll(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    try {
      for (const one of await this.#options.logs(signal)) {
        if (signal.aborted) return;
        await this.#rotate(one, signal).catch((error) => {
          log.warn("cannot rotate a log", { file: one.file, error: describeError(error) });
        });
      }
    } catch (error) {
      if (!signal.aborted) log.warn("cannot list the logs to rotate", { error: describeError(error) });
    }
  }

  async #rotate({ id, file }: RotatedLog, signal: AbortSignal): Promise<void> {
    const { maxSize = 10 * 1024 * 1024, maxFiles = 5, reopen } = this.#options;
    const size = await sizeOf(file);
    if (size === undefined) {
      // Either nothing was written yet, or the last try went no further than the renaming.
      if ((await rotatedFiles(file)).length > 0) await reopen(id, signal);
      return;
    }
    if (size < maxSize) return;
    await this.#removeOldest(file, Math.max(0, maxFiles - 2));
    const newest = (await rotatedFiles(file)).at(-1)?.slice(file.length + 1);
    const renamed = `${file}.${stampAfter(newest, this.#clock.now())}`;
    await rename(file, renamed);
    try {
      await reopen(id, signal);
    } catch (error) {
      // The writer goes on in the same file: under its old name nobody misses anything.
      if ((await inodeOf(file)) === undefined) await rename(renamed, file);
      throw error;
    }
  }

  async #removeOldest(file: string, keep: number): Promise<void> {
    const rotated = await rotatedFiles(file);
    for (const old of rotated.slice(0, Math.max(0, rotated.length - keep))) await rm(old, { force: true });
  }
}

/** Removes a log with all of its files. */
export async function removeLog(file: string): Promise<void> {
  for (const one of await logFiles(file)) await rm(one, { force: true });
}

/** `20261115-135501042`: the names sort as the times do, also where the clock was put back. */
function stampAfter(newest: string | undefined, now: number): string {
  const stamp = stampOf(now);
  if (newest === undefined || stamp > newest) return stamp;
  const digits = newest.replace("-", "").padEnd(17, "0");
  const [, year, month, day, hour, minute, second, rest] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})$/.exec(digits) ?? [];
  return stampOf(Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${rest}Z`) + 1);
}

function stampOf(time: number): string {
  const [date = "", clock = ""] = new Date(time).toISOString().split("T");
  return `${date.replaceAll("-", "")}-${clock.replace(/[:.Z]/g, "")}`;
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
