import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import { type LogStream, LogTime, toRecords } from "../../logs/cri-log.ts";
import type { CriClient } from "./cri-client.ts";
import { appendTo, KeptOutputs } from "./kept-outputs.ts";
import { OutputKeeper } from "./output-keeper.ts";
import { RuntimeService } from "./proto/messages.ts";

export interface HeldOutputsOptions {
  readonly client: CriClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where output is kept that is in no log when this process is killed. @default it is lost */
  readonly keptDirectory?: string;
}

interface Pipe {
  readonly path: string;
  readonly stream: LogStream;
  readonly descriptor: number;
  /** What was read and is kept nowhere else. */
  readonly pieces: Buffer[];
}

interface Output {
  readonly pipes: Pipe[];
  gathering?: Promise<void>;
}

const STREAMS: readonly LogStream[] = ["stdout", "stderr"];
/** A container's first process has ended: what carries its output waits two seconds for a reader, and drops the rest. */
const GATHER_TIME = 3_000;
const GATHER_INTERVAL = 5;
const LOOK_INTERVAL = 200;
/** A runtime that comes back tells of what has just ended seconds later; whoever tells sooner may not be heard yet. */
const LOOK_TIME = 10_000;
const CHUNK = 64 * 1024;

/**
 * The pipes through which containerd gets the output of containers, held open by this process too: what containerd does not
 * read, since it was dead when a container ended, or since it let go too soon, stays in them, and is added to the log
 * here. Each byte is read by one of both. Of runtimes that have no such pipes nothing is held.
 */
export class HeldOutputs {
  readonly #client: CriClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #kept: KeptOutputs | undefined;
  readonly #keeper: OutputKeeper | undefined;
  readonly #outputs = new Map<string, Output>();
  /** Of the pipes; null where the runtime tells of none. */
  #directory: string | null | undefined;
  /** Than is kept. */
  #hasMore = false;
  #cancelLook: () => void = () => {};
  #lookEnd = 0;

  constructor({ client, clock, log, keptDirectory }: HeldOutputsOptions) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
    if (keptDirectory === undefined) return;
    this.#kept = new KeptOutputs(keptDirectory);
    this.#keeper = new OutputKeeper(keptDirectory, clock);
    for (const id of this.#kept.ids()) this.#outputs.set(id, { pipes: [] });
    const earlier = this.#keeper.earlier();
    // Even where nothing can be taken over, whoever has kept it is to end.
    this.#hasMore = earlier.length > 0;
    for (const { path, link } of earlier) {
      const id = containerOf(path);
      if (id !== undefined) this.#add(id, path, constants.O_RDONLY, link);
    }
    this.keep();
    if (this.size > 0) this.awaitRuntime();
  }

  get size(): number {
    return this.#outputs.size;
  }

  /** Holds the output of a container that is about to start, or runs. */
  async hold(id: string, signal?: AbortSignal): Promise<void> {
    this.#directory ??= await this.#find(signal);
    if (this.#directory == null) return;
    const folder = join(this.#directory, "containers", id, "io");
    for (const path of pipesBelow(folder, id)) this.#add(id, path, constants.O_RDONLY | constants.O_NOFOLLOW);
  }

  /** Has all that is held kept for the process after this one, should this one be killed. */
  keep(): void {
    if (!this.#hasMore) return;
    const pipes = this.#outputs.values().flatMap((output) => output.pipes);
    this.#hasMore = this.#keeper?.keep(pipes.toArray()) === false;
  }

  #add(id: string, path: string, flags: number, file = path): void {
    const output = this.#outputs.get(id) ?? { pipes: [] };
    if (output.pipes.some((pipe) => pipe.path === path)) return;
    const pipe = openPipe(path, flags, file);
    if (pipe === undefined) return;
    output.pipes.push(pipe);
    // Nobody has read this one yet.
    delete output.gathering;
    this.#outputs.set(id, output);
    this.#hasMore = true;
  }

  /** Whether the runtime has let go of the container's output. */
  isLeft(id: string): boolean {
    const output = this.#outputs.get(id);
    return output !== undefined && isLeft(output);
  }

  /** Empties the pipes of a container that has ended, once the runtime has let go of them. */
  gather(id: string): void {
    const output = this.#outputs.get(id);
    if (output !== undefined && isLeft(output)) output.gathering ??= this.#gather(id, output);
  }

  /**
   * Looks after all of them until some time after something is listed again: a runtime that comes back lets go of what has
   * ended before it answers anybody.
   */
  awaitRuntime(): void {
    this.#lookEnd = Infinity;
    this.#look();
  }

  #look(): void {
    this.#cancelLook();
    for (const id of this.#outputs.keys()) this.gather(id);
    if (this.#clock.now() < this.#lookEnd) this.#cancelLook = this.#clock.after(LOOK_INTERVAL, () => this.#look());
  }

  /** Adds what the runtime has not read to the log of a container that it says has ended. */
  async settle(id: string, logFile: string): Promise<void> {
    const output = this.#outputs.get(id);
    if (output === undefined) return;
    output.gathering ??= this.#gather(id, output);
    await output.gathering;
    // Whoever waited for the same has done it.
    if (!this.#outputs.delete(id)) return;
    try {
      const make = () => this.#records(id, output);
      if (this.#kept === undefined) appendTo(logFile, make());
      else this.#kept.addToLog(id, logFile, make);
    } catch (error) {
      const reason = describeError(error);
      this.#log.warn("the end of a container's output cannot be added to its log", { container: id, error: reason });
    } finally {
      close(output);
    }
  }

  /** Lets go of all others that the runtime has let go of too: one that is about to start may not be listed yet. */
  keepOnly(ids: ReadonlySet<string>): void {
    if (this.#lookEnd === Infinity) this.#lookEnd = this.#clock.now() + LOOK_TIME;
    for (const [id, output] of this.#outputs) {
      if (ids.has(id) || !isLeft(output)) continue;
      this.#drop(id, output);
      this.#kept?.remove(id);
    }
    this.keep();
  }

  close(): void {
    this.#cancelLook();
    this.#keeper?.close();
    for (const [id, output] of this.#outputs) this.#drop(id, output);
  }

  #drop(id: string, output: Output): void {
    this.#outputs.delete(id);
    // What reads it at this moment needs it still.
    if (output.gathering === undefined) close(output);
    else void output.gathering.finally(() => close(output));
  }

  async #gather(id: string, { pipes }: Output): Promise<void> {
    if (this.#keeper?.hasEarlier) await this.#keeper.handedOver();
    const end = this.#clock.now() + GATHER_TIME;
    // All of them each time: one that nobody empties holds the others up.
    while (!pipes.map((pipe) => this.#empty(id, pipe)).every((isAtEnd) => isAtEnd) && this.#clock.now() < end) {
      await sleep(this.#clock, GATHER_INTERVAL);
    }
  }

  /** Reads what is in a pipe; whether nobody can write to it any more. */
  #empty(id: string, { descriptor, stream, pieces }: Pipe): boolean {
    for (;;) {
      const piece = readPiece(descriptor);
      if (piece === undefined) return false;
      if (piece.length === 0) return true;
      // What follows something that could not be kept must not come before it.
      const rest = pieces.length > 0 ? piece : (this.#kept?.add(id, stream, piece) ?? piece);
      if (rest.length > 0) pieces.push(rest);
    }
  }

  /** All that the runtime has left unread, as it would have written it. */
  #records(id: string, { pipes }: Output): Buffer {
    const now = this.#clock.now();
    const time = new LogTime();
    const records = STREAMS.flatMap((stream) => {
      const kept = this.#kept === undefined ? [] : [this.#kept.output(id, stream)];
      const pieces = pipes.flatMap((pipe) => (pipe.stream === stream ? pipe.pieces : []));
      return toLog(Buffer.concat([...kept, ...pieces]), stream, () => time.next(now));
    });
    return Buffer.concat(records);
  }

  /** The folder in which containerd's CRI keeps what lives as long as containers; undefined where it is to be asked again. */
  async #find(signal?: AbortSignal): Promise<string | null | undefined> {
    const options = { action: "ask the runtime for its directories", ...(signal && { signal }) };
    try {
      const { info } = await this.#client.call(RuntimeService.status, { verbose: true }, options);
      return stateDirectory(info.config ?? "");
    } catch (error) {
      this.#log.debug("the runtime does not tell its directories", { error: describeError(error) });
      return undefined;
    }
  }
}

/** As containerd tells it; others tell of none. */
export function stateDirectory(config: string): string | null {
  try {
    const { stateDir } = JSON.parse(config) as { stateDir?: unknown };
    return typeof stateDir === "string" ? stateDir : null;
  } catch {
    return null;
  }
}

/** There is a folder for each time that the runtime made the pipes. */
function pipesBelow(folder: string, id: string): string[] {
  try {
    return readdirSync(folder).flatMap((name) => STREAMS.map((stream) => join(folder, name, `${id}-${stream}`)));
  } catch {
    return [];
  }
}

/** The container whose output a pipe is for, as containerd names them. */
function containerOf(path: string): string | undefined {
  return /\/containers\/([^/]+)\/io\/[^/]+\/\1-(?:stdout|stderr)$/.exec(path)?.[1];
}

/** Only ever for reading: whoever opens it for writing lets the runtime see an end where there is none. */
function openPipe(path: string, flags: number, file: string): Pipe | undefined {
  try {
    const descriptor = openSync(file, flags | constants.O_NONBLOCK);
    if (fstatSync(descriptor).isFIFO()) {
      return { path, descriptor, stream: path.endsWith("stdout") ? "stdout" : "stderr", pieces: [] };
    }
    closeSync(descriptor);
  } catch {
    // A container with a terminal has no second one; what is gone needs no holding.
  }
  return undefined;
}

/** containerd removes the pipes when it has closed them. */
function isLeft({ pipes }: Output): boolean {
  return pipes.every(({ descriptor }) => fstatSync(descriptor).nlink === 0);
}

/** What a pipe has at this moment: undefined where nothing, and empty where nobody can write to it any more. */
function readPiece(descriptor: number): Buffer | undefined {
  const piece = Buffer.allocUnsafe(CHUNK);
  try {
    return piece.subarray(0, readSync(descriptor, piece));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}

/** Records as containerd writes them: without carriage returns, and a last line without newline as one that goes on. */
function toLog(output: Buffer, stream: LogStream, time: () => string): Buffer[] {
  if (output.length === 0) return [];
  const raw = output.includes("\r\n")
    ? Buffer.from(output.toString("latin1").replaceAll("\r\n", "\n"), "latin1")
    : output;
  const { records, consumed } = toRecords(raw, stream, time);
  if (consumed === raw.length) return [records];
  return [records, Buffer.from(`${time()} ${stream} P `), raw.subarray(consumed), Buffer.from("\n")];
}

function close({ pipes }: Output): void {
  for (const { descriptor } of pipes) closeSync(descriptor);
}
