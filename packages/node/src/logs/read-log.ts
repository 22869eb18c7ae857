import { type Clock, onAbort, sleep, systemClock } from "@fjord/base";
import { LogMissing } from "./errors.ts";
import { LineJoiner } from "./line-joiner.ts";
import { inodeOf, type LogFile, logFiles, openLogFile, openNext } from "./log-files.ts";
import { type LogRecord, recordTime } from "./log-record.ts";
import { LogWatch } from "./log-watch.ts";
import { RecordSplitter } from "./record-splitter.ts";
import { tailPosition } from "./tail-position.ts";

const BLOCK = 64 * 1024;
/** How long a writer may take to turn from the file that was renamed to the new one. */
const TURN_MS = 200;

export interface ReadLogOptions {
  readonly timestamps?: boolean;
  /** Lines from the end; absent: all. */
  readonly tailLines?: number;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly limitBytes?: number;
  readonly stream?: LogRecord["stream"];
  /** Goes on with what is written later, until this resolves and all was read. Absent: ends with what is there now. */
  readonly ended?: Promise<unknown>;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/**
 * What a container has written, from its log file and those that were renamed before it. Throws `LogMissing` where there
 * is none, unless it is to be followed.
 */
export async function readLog(path: string, options: ReadLogOptions = {}): Promise<AsyncGenerator<Buffer, void, void>> {
  if (options.ended === undefined && (await logFiles(path)).length === 0) throw new LogMissing({ path });
  return new LogReader(path, options).read();
}

class LogReader {
  readonly #path: string;
  readonly #options: ReadLogOptions;
  readonly #clock: Clock;
  readonly #joiner: LineJoiner;
  readonly #stop = new AbortController();
  #splitter = new RecordSplitter();
  #watch: LogWatch | undefined;
  #ended = false;
  #reachedSince = false;
  #left: number;
  /** Where to end that does not follow: what is written from then on is not read. */
  #end: { readonly inode: LogFile["inode"]; readonly size: number } | undefined;

  constructor(path: string, options: ReadLogOptions) {
    this.#path = path;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#joiner = new LineJoiner(options.timestamps ?? false);
    this.#left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  async *read(): AsyncGenerator<Buffer, void, void> {
    const { signal, ended } = this.#options;
    const release = signal && onAbort(signal, () => this.#stop.abort());
    if (ended !== undefined) this.#follow(ended);
    let file: LogFile | undefined;
    try {
      const start = await this.#start();
      file = start?.file;
      let offset = start?.offset ?? 0;
      while (!this.#stop.signal.aborted) {
        if (file !== undefined) {
          for await (const chunk of this.#rest(file, offset)) {
            offset += chunk.length;
            yield* this.#show(this.#splitter.push(chunk));
            if (this.#left <= 0) return;
          }
          if (file.inode === this.#end?.inode) break;
        }
        const next: LogFile | undefined = await this.#next(file, offset);
        if (next === file && file !== undefined) continue;
        if (next === undefined) {
          yield* this.#limited(this.#joiner.flush());
          if (await this.#wait(file, offset)) continue;
          break;
        }
        await file?.handle.close();
        file = next;
        offset = 0;
        yield* this.#show(this.#splitter.end());
      }
      yield* this.#show(this.#splitter.end());
      yield* this.#limited(this.#joiner.flush());
    } finally {
      release?.();
      this.#watch?.close();
      await file?.handle.close();
    }
  }

  #follow(ended: Promise<unknown>): void {
    const watch = new LogWatch(this.#path, this.#clock);
    this.#watch = watch;
    const done = () => {
      this.#ended = true;
      watch.touch();
    };
    ended.then(done, done);
  }

  /** The file to begin with, and where in it. */
  async #start(): Promise<{ file: LogFile; offset: number } | undefined> {
    const { tailLines, stream, since, ended } = this.#options;
    const files = await logFiles(this.#path);
    let missing = tailLines ?? Number.POSITIVE_INFINITY;
    let found: { file: LogFile; offset: number } | undefined;
    for (const name of files.toReversed()) {
      const file = await openLogFile(name);
      // Renamed meanwhile: it comes up again as another's successor.
      if (file === undefined) continue;
      if (file.inode === found?.file.inode) {
        await file.handle.close();
        continue;
      }
      const { size, mtimeMs } = await file.handle.stat();
      // Where the newest was renamed meanwhile, what it has is read as far as it goes.
      if (ended === undefined && name === files.at(-1)) this.#end = { inode: file.inode, size };
      if (found !== undefined && since !== undefined && mtimeMs < since) {
        await file.handle.close();
        break;
      }
      const position = Number.isFinite(missing)
        ? await tailPosition(file.handle, size, missing, stream)
        : { offset: 0, missing };
      await found?.file.handle.close();
      found = { file, offset: position.offset };
      missing = position.missing;
      if (missing === 0) break;
    }
    return found;
  }

  async *#rest({ handle, inode }: LogFile, start: number): AsyncGenerator<Buffer, void, void> {
    const end = inode === this.#end?.inode ? this.#end.size : Number.POSITIVE_INFINITY;
    // One for all that is read now: what is shown is a copy, and blocks would pile up until they are collected.
    const buffer = Buffer.allocUnsafe(BLOCK);
    for (let offset = start; offset < end && !this.#stop.signal.aborted; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(BLOCK, end - offset), offset);
      if (bytesRead === 0) return;
      offset += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** The file after this one, once its writer has left it; the same one where more came; undefined at the end. */
  async #next(file: LogFile | undefined, offset: number): Promise<LogFile | undefined> {
    if (file === undefined) {
      const [first] = await logFiles(this.#path);
      return first === undefined ? undefined : await openLogFile(first);
    }
    if ((await inodeOf(this.#path)) === file.inode) return undefined;
    const next = await openNext(this.#path, file.inode);
    if (next === undefined) return undefined;
    if (this.#options.ended !== undefined && !this.#ended) await sleep(this.#clock, TURN_MS, this.#stop.signal);
    if ((await file.handle.stat()).size > offset) {
      await next.handle.close();
      return file;
    }
    return next;
  }

  /** Waits until there may be more; false where there will not. */
  async #wait(file: LogFile | undefined, offset: number): Promise<boolean> {
    if (this.#watch === undefined || this.#stop.signal.aborted) return false;
    if (this.#ended) {
      // What was written before the end is there now, and not seen by the last look alone.
      const size = file === undefined ? 0 : (await file.handle.stat()).size;
      return size > offset || (file === undefined && (await logFiles(this.#path)).length > 0);
    }
    await this.#watch.changed(this.#stop.signal);
    return true;
  }

  *#show(records: readonly LogRecord[]): Generator<Buffer, void, void> {
    const output: Buffer[] = [];
    for (const record of records) {
      if (this.#wants(record)) output.push(...this.#joiner.push(record));
    }
    yield* this.#limited(output);
  }

  *#limited(output: readonly Buffer[]): Generator<Buffer, void, void> {
    if (output.length === 0 || this.#left <= 0) return;
    const whole = Buffer.concat(output);
    const shown = whole.length > this.#left ? whole.subarray(0, this.#left) : whole;
    this.#left -= shown.length;
    if (shown.length > 0) yield shown;
  }

  #wants(record: LogRecord): boolean {
    const { since, stream } = this.#options;
    if (stream !== undefined && record.stream !== stream) return false;
    if (since === undefined || this.#reachedSince) return true;
    this.#reachedSince = recordTime(record) >= since;
    return this.#reachedSince;
  }
}
