import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, type FSWatcher, openSync, watch } from "node:fs";
import { join } from "node:path";
import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { RuntimeContainer } from "../../runtime/runtime.ts";
import type { Cgroups } from "./cgroups.ts";
import { endOf } from "./container-end.ts";
import type { LogStream } from "./cri-log.ts";
import { ProcessStartFailed } from "./errors.ts";
import { createOnce, readLine, readText, writeWhole } from "./files.ts";
import { LogCarrier, STREAMS } from "./log-carrier.ts";
import {
  bootId,
  CONTAINER_MARK,
  isAlive,
  KEEPER_MARK,
  POD_MARK,
  type ProcessIdentity,
  parseMarks,
  readProc,
  readStat,
  sendSignal,
  signalNumber,
} from "./process-table.ts";
import type { Reaper } from "./reaper.ts";
import { type ContainerEnd, type ContainerRecord, readJson } from "./records.ts";

/** How long output is waited for after the program has ended and everything it left was killed. */
const DRAIN_PATIENCE = 2000;
const START_PATIENCE = 30_000;
const BEGIN_PATIENCE = 5000;
const LOOK_INTERVAL = 1000;
/** How often it is tried again to write what the disk did not take. */
const ROOM_INTERVAL = 5000;

/** In place of the claim of a keeper: there will be none. */
const FORSAKEN = "0 0 forsaken\n";

export interface ProcessContainerOptions {
  readonly record: ContainerRecord;
  readonly sandbox: string;
  readonly podUid: string;
  readonly directory: string;
  readonly shell: string;
  readonly cat: string;
  readonly cgroups?: Cgroups;
  readonly reaper: Reaper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly releaseRaw: (file: string, end: number) => void;
  readonly onChange: () => void;
}

/** One container: what its files say, its log, and the way to its end. */
export class ProcessContainer {
  record: ContainerRecord;
  readonly options: ProcessContainerOptions;
  readonly #log: LogCarrier;
  readonly #waiting = new Set<() => void>();
  readonly #outputs = new Set<() => void>();
  readonly #readers = new Set<{ stream: LogStream; offset: number }>();
  #watch: FSWatcher | undefined;
  #looking: NodeJS.Timeout | undefined;
  #end: ContainerEnd | undefined;
  #finishing: Promise<ContainerEnd> | undefined;
  #closed = false;

  constructor(options: ProcessContainerOptions) {
    this.options = options;
    this.record = options.record;
    this.#end = readJson<ContainerEnd>(this.#file("end.json"));
    this.#log = new LogCarrier({
      directory: options.directory,
      logFile: options.record.logFile,
      release: (stream, end) => {
        const needed = [...this.#readers].filter((reader) => reader.stream === stream).map((reader) => reader.offset);
        options.releaseRaw(join(options.directory, `${stream}.raw`), Math.min(end, ...needed));
      },
      onError: (error) =>
        options.logger.error("cannot write the log of a container", {
          container: this.record.id,
          error: describeError(error),
        }),
    });
    if (!this.#end) this.#observe();
  }

  get id(): string {
    return this.record.id;
  }

  get directory(): string {
    return this.options.directory;
  }

  /** The program itself, while it runs. */
  main(): ProcessIdentity | undefined {
    const main = this.#identity("main");
    return main && isAlive(main) ? main : undefined;
  }

  #identity(file: string): ProcessIdentity | undefined {
    // After a restart of the machine the same pid and tick may be someone else's.
    if (readLine(this.#file("claim"))?.line.split(" ")[2] !== bootId()) return undefined;
    const [pid, started] = readLine(this.#file(file))?.line.split(" ") ?? [];
    return pid === undefined || started === undefined ? undefined : { pid: Number(pid), started };
  }

  /** Undefined where it does not run. */
  runningSince(): number | undefined {
    return this.#end ? undefined : this.main() && readLine(this.#file("main"))?.time;
  }

  async status(): Promise<RuntimeContainer> {
    const { record } = this;
    const common = {
      id: record.id,
      sandbox: this.options.sandbox,
      name: record.name,
      attempt: record.attempt,
      createdAt: record.createdAt,
      image: record.image,
      imageId: record.imageId,
      annotations: record.annotations,
      logFile: record.logFile,
      resources: record.resources,
      ...(record.user ? { user: record.user } : {}),
    };
    const end = await this.#settleIfPossible();
    if (end) return { ...common, state: "exited", ...end };
    const started = readLine(this.#file("main"));
    if (!started) return { ...common, state: "created" };
    this.#mendCarriers();
    return { ...common, state: "running", startedAt: started.time };
  }

  /** What stands in the way of one container must not hide all the others. */
  async #settleIfPossible(): Promise<ContainerEnd | undefined> {
    try {
      return await this.settle();
    } catch (error) {
      if (!this.#closed)
        this.options.logger.error("cannot settle a container", { container: this.id, error: describeError(error) });
      return undefined;
    }
  }

  /** How it ended, with its log complete; undefined where it has not. */
  async settle(): Promise<ContainerEnd | undefined> {
    if (this.#end) return this.#end;
    if (readLine(this.#file("exit"))) return this.#finish();
    if (this.#isForsaken()) return undefined;
    if (readText(this.#file("claim")) === undefined || this.#keeper()) return undefined;
    // It may have noted the end just before it ended itself.
    if (!readLine(this.#file("exit"))) {
      if (!(await this.#claimIsOld())) return undefined;
      await this.killPrograms();
      createOnce(this.#file("exit"), "137 lost\n");
    }
    const end = await this.#finish();
    // What the keeper would have ended with itself.
    await this.options.reaper.kill({ matches: (each) => each.container === this.id });
    return end;
  }

  /** Unless it has been started, it never will be: it is as good as removed, and has not ended. */
  forsake(): boolean {
    return createOnce(this.#file("claim"), FORSAKEN) || this.#isForsaken();
  }

  #isForsaken(): boolean {
    return readText(this.#file("claim")) === FORSAKEN;
  }

  async start(): Promise<void> {
    if (this.#isForsaken()) throw new ProcessStartFailed({ id: this.id, reason: "it is to be made anew" });
    let failure: Error | undefined;
    if (readText(this.#file("claim")) === undefined) {
      const keeper = this.#detach([this.#file("keeper.sh")]);
      keeper.once("exit", () => this.#keeperEnded());
      keeper.once("error", (error) => {
        failure = error;
        this.#wake();
      });
    }
    const started = () => readLine(this.#file("main")) !== undefined || readLine(this.#file("exit")) !== undefined;
    const settled = await this.#until(() => started() || failure !== undefined, START_PATIENCE);
    if (settled && !failure) return this.options.onChange();
    const reason = failure?.message ?? (readText(this.#file("keeper.log"))?.trim() || "its keeper says nothing");
    throw new ProcessStartFailed({ id: this.id, reason }, { cause: failure });
  }

  /** Resolves when it has ended; what never ran will not. */
  async stop(graceSeconds: number, signal?: AbortSignal): Promise<void> {
    if (!existsSync(this.directory)) return await this.#endWithoutFiles();
    if ((await this.settle()) || this.#isForsaken()) return;
    if (createOnce(this.#file("claim"), `0 0 ${bootId()}\n`)) {
      createOnce(this.#file("exit"), "137 unstarted\n");
      await this.#finish();
      return;
    }
    const ended = () => readLine(this.#file("exit")) !== undefined || !this.#keeper();
    // A start that is under way is not to be overtaken: there would be nothing to signal yet.
    await this.#until(() => this.#identity("main") !== undefined || ended(), BEGIN_PATIENCE, signal);
    const main = this.main();
    if (main && graceSeconds > 0) {
      sendSignal(main, signalNumber(this.record.stopSignal));
      await this.#until(ended, graceSeconds * 1000, signal);
      signal?.throwIfAborted();
    }
    await this.killPrograms();
    await this.#until(ended, DRAIN_PATIENCE, signal);
    // Without a trace of its end the keeper itself is in the way.
    if (!readLine(this.#file("exit"))) {
      await this.options.reaper.kill({ matches: (each) => each.container === this.id });
      createOnce(this.#file("exit"), "137 lost\n");
    }
    await this.settle();
  }

  /** Someone has removed its files: whatever carries its mark is all that is known of it. */
  async #endWithoutFiles(): Promise<void> {
    const { cgroup } = this.record;
    const matches = (each: { container?: string }) => each.container === this.id;
    if (cgroup !== undefined) await this.options.reaper.kill({ matches, cgroup });
    // The keeper is in no group of the container's.
    await this.options.reaper.kill({ matches });
    if (this.#end) return;
    this.#end = { exitCode: 137, finishedAt: this.options.clock.now(), reason: "Error", message: "its files are gone" };
    this.close();
    this.options.onChange();
  }

  /** Kills everything of the container except what keeps it. */
  async killPrograms(): Promise<void> {
    const { reaper } = this.options;
    const { cgroup, contained } = this.record;
    const init = contained ? this.#identity("init") : undefined;
    if (init) {
      sendSignal(init, "SIGKILL");
      if (await this.#until(() => !isAlive(init), DRAIN_PATIENCE)) return;
    }
    const matches = (each: { container?: string; keeper: boolean }) => each.container === this.id && !each.keeper;
    await reaper.kill({ matches, ...(cgroup === undefined ? {} : { cgroup }) });
  }

  /** Ends everything, the keeper too; afterwards nothing can start it. */
  async remove(): Promise<void> {
    if (!existsSync(this.directory) || !this.forsake()) await this.stop(0);
    const kept = () => this.#keeper() !== undefined || this.#carriers().size > 0;
    await this.#until(() => !kept(), DRAIN_PATIENCE);
    if (kept()) await this.options.reaper.kill({ matches: (each) => each.container === this.id });
    this.close();
    if (this.options.cgroups && this.record.cgroup !== undefined) this.options.cgroups.remove(this.record.cgroup);
  }

  /** Whether it has ended and all its output is in the raw files. */
  isOver(): boolean {
    return this.#end !== undefined || this.#closed || readLine(this.#file("drained")) !== undefined;
  }

  async over(signal: AbortSignal): Promise<void> {
    while (!this.isOver() && !signal.aborted) await this.output(signal);
  }

  /** Resolves when there may be more output, or the container has ended. */
  output(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        this.#outputs.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      this.#outputs.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted || this.isOver()) done();
    });
  }

  /** Someone who reads a raw file, from `offset` on: what he has not read is not given up. */
  addReader(stream: LogStream, offset: number): { offset: number; close(): void } {
    const reader = { stream, offset, close: () => void this.#readers.delete(reader) };
    this.#readers.add(reader);
    return reader;
  }

  /** Whether a process is one of this container's, or of its keepers. */
  owns(pid: number): boolean {
    return parseMarks(readProc(`/proc/${pid}/environ`) ?? "")?.container === this.id;
  }

  reopenLog(): void {
    this.#log.reopen();
  }

  close(): void {
    this.#closed = true;
    this.#watch?.close();
    this.#watch = undefined;
    clearInterval(this.#looking);
    this.#log.close();
    this.#wake();
  }

  /** Starts a shell that outlives this process. */
  #detach(words: readonly string[]): ChildProcess {
    const errors = openSync(this.#file("keeper.log"), "a", 0o600);
    try {
      const child = spawn(this.options.shell, [...words], {
        cwd: this.directory,
        detached: true,
        stdio: ["ignore", errors, errors],
        env: { [POD_MARK]: this.options.podUid, [CONTAINER_MARK]: this.id, [KEEPER_MARK]: "1" },
      });
      child.once("error", (error) =>
        this.options.logger.error("cannot start a keeper", { container: this.id, error: describeError(error) }),
      );
      child.unref();
      return child;
    } finally {
      closeSync(errors);
    }
  }

  /** It may have been killed; then there is no note of the program's end, and nothing that waits for it. */
  #keeperEnded(): void {
    this.#wake();
    if (this.#closed) return;
    this.settle().catch((error: unknown) => {
      if (!this.#closed)
        this.options.logger.error("cannot settle a container", { container: this.id, error: describeError(error) });
    });
  }

  /** The processes that carry output to the raw files, by stream; those that were killed are missing. */
  #carriers(): Map<LogStream, number> {
    const pids = readLine(this.#file("carriers"))?.line.split(" ") ?? [];
    const alive = STREAMS.flatMap((stream, index) => {
      const pid = Number(pids[index]);
      return pid > 0 && readStat(pid) && this.owns(pid) ? [[stream, pid] as const] : [];
    });
    return new Map(alive);
  }

  /** A carrier that was killed leaves the program with a pipe that nobody reads: another takes its place. */
  #mendCarriers(): void {
    if (!readLine(this.#file("carriers"))) return;
    const carriers = this.#carriers();
    // They end with the program, but not before its end is noted.
    if (carriers.size === STREAMS.length || readLine(this.#file("exit")) || !this.#keeper()) return;
    for (const stream of STREAMS) {
      if (carriers.has(stream)) continue;
      this.options.logger.warn("a carrier of logs was killed", { container: this.id, stream });
      // A pipe that everyone else has closed meanwhile can not be opened just for reading.
      const words = ["-c", `exec 5<>${stream} 6<${stream}; exec "$0" <&6 >>${stream}.raw 5>&- 6<&-`, this.options.cat];
      const child = this.#detach(words);
      if (child.pid !== undefined) carriers.set(stream, child.pid);
    }
    writeWhole(this.#file("carriers"), `${STREAMS.map((stream) => carriers.get(stream) ?? 0).join(" ")}\n`);
  }

  /** The shell that stands by the container; undefined where it has ended, or not begun. */
  #keeper(): ProcessIdentity | undefined {
    const [pid, started, boot] = readLine(this.#file("claim"))?.line.split(" ") ?? [];
    if (pid === undefined || started === undefined || boot !== bootId()) return undefined;
    const identity = { pid: Number(pid), started };
    return isAlive(identity) ? identity : undefined;
  }

  /** A claim without its line is one that is being written, unless it stays so. */
  async #claimIsOld(): Promise<boolean> {
    if (readLine(this.#file("claim"))) return true;
    return !(await this.#until(() => readLine(this.#file("claim")) !== undefined, 1000));
  }

  #finish(): Promise<ContainerEnd> {
    this.#finishing ??= this.#complete().finally(() => {
      this.#finishing = undefined;
    });
    return this.#finishing;
  }

  async #complete(): Promise<ContainerEnd> {
    await this.killPrograms();
    const drained = () =>
      (readLine(this.#file("drained")) !== undefined || !this.#keeper()) && this.#carriers().size === 0;
    await this.#until(drained, DRAIN_PATIENCE);
    const isLogWhole = await this.#ifPossible("write the rest of a log", () => this.#log.drain());
    const { cgroups } = this.options;
    const { cgroup } = this.record;
    const end = endOf({
      exit: readLine(this.#file("exit")) ?? { line: "137 lost", time: this.options.clock.now() },
      ...optional("main", readLine(this.#file("main"))),
      ...optional("problem", readText(this.#file("problem"))),
      oomKills: cgroups && cgroup !== undefined ? cgroups.oomKills(cgroup) : 0,
    });
    if (this.#closed) return end;
    this.#end = end;
    const isNoted = await this.#ifPossible("note the end of a container", () => this.#note(end));
    if (cgroups && cgroup !== undefined) cgroups.remove(cgroup);
    if (isLogWhole && isNoted) this.close();
    else this.#completeLater(end);
    this.options.onChange();
    return end;
  }

  #note(end: ContainerEnd): void {
    writeWhole(this.#file("end.json"), JSON.stringify(end));
  }

  /** False where the disk is full or fails: that must not keep anything from ending, since what ends makes room. */
  async #ifPossible(action: string, write: () => void | Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      this.options.logger.warn(`cannot ${action}`, { container: this.id, error: describeError(error) });
      return false;
    }
  }

  /** Once there is room again the log becomes whole, unless the container is removed before. */
  #completeLater(end: ContainerEnd): void {
    clearInterval(this.#looking);
    this.#looking = setInterval(async () => {
      try {
        await this.#log.drain();
        this.#note(end);
        this.close();
      } catch {
        // Said once, when it first failed.
      }
    }, ROOM_INTERVAL).unref();
    this.#watch?.close();
    this.#watch = undefined;
  }

  #observe(): void {
    try {
      this.#watch = watch(this.directory, { persistent: false }, (_, name) => {
        if (name === "stdout.raw" || name === "stderr.raw") this.#moreOutput();
        else this.#changed();
      });
      this.#watch.on("error", (error) => this.#look(error));
    } catch (error) {
      this.#look(error);
    }
    this.#log.poke();
    this.#changed();
  }

  /** Where the kernel gives no more watches, the files are looked at now and then. */
  #look(error: unknown): void {
    if (this.#closed || this.#looking) return;
    this.options.logger.warn("cannot watch a container, and look at it every second", {
      container: this.id,
      error: describeError(error),
    });
    this.#looking = setInterval(() => {
      this.#moreOutput();
      this.#changed();
    }, LOOK_INTERVAL).unref();
  }

  #moreOutput(): void {
    this.#log.poke();
    for (const wake of [...this.#outputs]) wake();
  }

  #changed(): void {
    this.#wake();
    if (this.#closed || this.#end || this.#finishing || !readLine(this.#file("exit"))) return;
    this.#finish().catch((error: unknown) => {
      if (!this.#closed)
        this.options.logger.error("cannot finish a container", { container: this.id, error: describeError(error) });
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits for something that the container's files tell; false where it does not come in time. */
  async #until(condition: () => boolean, milliseconds: number, signal?: AbortSignal): Promise<boolean> {
    const deadline = this.options.clock.now() + milliseconds;
    while (!condition()) {
      const left = deadline - this.options.clock.now();
      if (left <= 0 || signal?.aborted) return false;
      const woken = new AbortController();
      const wake = () => woken.abort();
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
      // A hint may be missing, above all for the end of processes, which no file tells.
      await sleep(this.options.clock, Math.min(left, 250), woken.signal);
      signal?.removeEventListener("abort", wake);
      this.#waiting.delete(wake);
    }
    return true;
  }

  #file(name: string): string {
    return join(this.directory, name);
  }
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
