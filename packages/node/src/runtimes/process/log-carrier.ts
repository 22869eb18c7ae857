import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { countRaw, type LogStream, LogTime, type RawCounts, toRecords } from "../../logs/cri-log.ts";
import { ifThere, readFrom, readText, writeWhole } from "./files.ts";

/** In the order of their carriers. */
export const STREAMS: readonly LogStream[] = ["stdout", "stderr"];
/** Milliseconds in which output gathers before it is carried: programs write line by line. */
const GATHERING = 10;
/** Read at once; other containers have their turn in between. */
const CHUNK = 128 * 1024;

export interface LogCarrierOptions {
  /** Where the raw files `stdout.raw` and `stderr.raw` are, and the checkpoint goes. */
  readonly directory: string;
  readonly logFile: string;
  /** Raw bytes between two checkpoints. @default 4 MiB */
  readonly checkpointBytes?: number;
  /** Frees the disk below `end` of a raw file; told after each checkpoint. */
  readonly release?: (stream: LogStream, end: number) => void;
  readonly onError: (error: unknown) => void;
}

interface Checkpoint extends RawCounts {
  /** Which file, and where in it the counts hold. */
  readonly inode: number;
  readonly offset: number;
}

/**
 * Carries the raw output of a container into its log, each byte once: how much is there already is told by the log
 * itself, from a checkpoint on, so that being killed at any moment neither loses nor repeats a line.
 */
export class LogCarrier {
  readonly #options: LogCarrierOptions;
  readonly #time = new LogTime();
  readonly #raw = new Map<LogStream, number>();
  #counts: RawCounts | undefined;
  #sinceCheckpoint = 0;
  #log: number | undefined;
  #scheduled: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: LogCarrierOptions) {
    this.#options = options;
  }

  /** There may be more output. */
  poke(delay = GATHERING): void {
    if (this.#closed) return;
    this.#scheduled ??= setTimeout(() => {
      this.#scheduled = undefined;
      try {
        if (this.#carry(false)) this.poke(0);
      } catch (error) {
        this.#options.onError(error);
      }
    }, delay);
  }

  /** Carries all that is left of a container that has ended, a last line without newline too. */
  async drain(): Promise<void> {
    while (!this.#closed && this.#carry(true)) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Goes on in a new file, after the old one was renamed. */
  reopen(): void {
    if (this.#closed) return;
    this.#checkpoint();
    if (this.#log !== undefined) closeSync(this.#log);
    this.#log = this.#openLog();
    this.#checkpoint();
  }

  close(): void {
    this.#closed = true;
    if (this.#scheduled) clearTimeout(this.#scheduled);
    for (const descriptor of this.#raw.values()) closeSync(descriptor);
    this.#raw.clear();
    if (this.#log !== undefined) closeSync(this.#log);
    this.#log = undefined;
  }

  /** One chunk of each stream; whether there may be more. */
  #carry(ended: boolean): boolean {
    const counts = this.#ready();
    let more = false;
    for (const stream of STREAMS) {
      const descriptor = this.#openRaw(stream);
      if (descriptor === undefined) continue;
      const { size, mtimeMs } = fstatSync(descriptor);
      const length = Math.min(CHUNK, size - counts[stream]);
      if (length <= 0) continue;
      const buffer = Buffer.allocUnsafe(length);
      const read = readSync(descriptor, buffer, 0, length, counts[stream]);
      const last = counts[stream] + read >= size;
      const raw = buffer.subarray(0, read);
      const { records, consumed } = toRecords(raw, stream, () => this.#time.next(mtimeMs), ended && last);
      if (consumed === 0) continue;
      this.#append(records);
      counts[stream] += consumed;
      this.#sinceCheckpoint += consumed;
      if (!last) more = true;
    }
    if (this.#sinceCheckpoint >= (this.#options.checkpointBytes ?? 4 * 1024 * 1024)) {
      this.#checkpoint();
      this.#release();
    }
    return more;
  }

  #append(records: Buffer): void {
    if (this.#log === undefined) {
      this.#log = this.#openLog();
      // So that the file is found again by its inode, should it be renamed before the next checkpoint.
      this.#checkpoint();
    }
    const { size } = fstatSync(this.#log);
    try {
      for (let at = 0; at < records.length; ) at += writeSync(this.#log, records, at);
    } catch (error) {
      // A disk that is full takes a part: with it, all of this would be there twice when it is written again.
      ftruncateSync(this.#log, size);
      throw error;
    }
  }

  #openLog(): number {
    mkdirSync(dirname(this.#options.logFile), { recursive: true });
    return openSync(this.#options.logFile, "a", 0o640);
  }

  #openRaw(stream: LogStream): number | undefined {
    const open = this.#raw.get(stream);
    if (open !== undefined) return open;
    const descriptor = ifThere(() => openSync(join(this.#options.directory, `${stream}.raw`), "r"));
    if (descriptor !== undefined) this.#raw.set(stream, descriptor);
    return descriptor;
  }

  #ready(): RawCounts {
    this.#counts ??= this.#recover();
    return this.#counts;
  }

  /** Adds what the log has got since the checkpoint, and cuts off a record that was being written. */
  #recover(): RawCounts {
    const checkpoint = this.#readCheckpoint();
    const counts: RawCounts = { stdout: checkpoint?.stdout ?? 0, stderr: checkpoint?.stderr ?? 0 };
    const current = ifThere(() => statSync(this.#options.logFile));
    const files: { path: string; offset: number }[] = [];
    if (checkpoint && checkpoint.inode !== current?.ino) {
      const renamed = this.#findRenamed(checkpoint);
      if (renamed) files.push({ path: renamed, offset: checkpoint.offset });
    }
    if (current) {
      const known = checkpoint?.inode === current.ino && checkpoint.offset <= current.size;
      files.push({ path: this.#options.logFile, offset: known ? checkpoint.offset : 0 });
    }
    for (const { path, offset } of files) {
      const tail = readFrom(path, offset);
      const { counts: found, whole } = countRaw(tail);
      if (whole < tail.length) cut(path, offset + whole);
      counts.stdout += found.stdout;
      counts.stderr += found.stderr;
    }
    // The last line of an ended program may have had no newline, but its record counts for one.
    for (const stream of STREAMS) {
      const size = ifThere(() => statSync(join(this.#options.directory, `${stream}.raw`)).size) ?? 0;
      counts[stream] = Math.min(counts[stream], size);
    }
    return counts;
  }

  #findRenamed(checkpoint: Checkpoint): string | undefined {
    const folder = dirname(this.#options.logFile);
    const prefix = basename(this.#options.logFile);
    for (const name of ifThere(() => readdirSync(folder)) ?? []) {
      if (!name.startsWith(prefix)) continue;
      const path = join(folder, name);
      const found = ifThere(() => statSync(path));
      if (found?.ino === checkpoint.inode && found.size >= checkpoint.offset) return path;
    }
    return undefined;
  }

  #readCheckpoint(): Checkpoint | undefined {
    const text = readText(join(this.#options.directory, "checkpoint.json"));
    return text === undefined ? undefined : (JSON.parse(text) as Checkpoint);
  }

  #checkpoint(): void {
    const counts = this.#ready();
    this.#log ??= this.#openLog();
    const { ino, size } = fstatSync(this.#log);
    const checkpoint: Checkpoint = { inode: ino, offset: size, ...counts };
    writeWhole(join(this.#options.directory, "checkpoint.json"), JSON.stringify(checkpoint));
    this.#sinceCheckpoint = 0;
  }

  /** Of what is carried and will never be read again. */
  #release(): void {
    const counts = this.#ready();
    for (const stream of STREAMS) if (counts[stream] > 0) this.#options.release?.(stream, counts[stream]);
  }
}

function cut(path: string, length: number): void {
  const descriptor = openSync(path, "r+");
  try {
    ftruncateSync(descriptor, length);
  } finally {
    closeSync(descriptor);
  }
}
