import { type Clock, describeError, type Logger } from "@fjord/base";
import type { LogStream } from "../../logs/cri-log.ts";
import type { RuntimeContainer } from "../../runtime/runtime.ts";
import type { Cgroups } from "./cgroups.ts";
import { endOf } from "./container-end.ts";
import { ContainerFiles } from "./container-files.ts";
import { ContainerWatch } from "./container-watch.ts";
import { ProcessStartFailed } from "./errors.ts";
import { Keeper } from "./keeper.ts";
import { LogCarrier } from "./log-carrier.ts";
import { isAlive, type ProcessIdentity, sendSignal, signalNumber } from "./process-table.ts";
import type { Reaper } from "./reaper.ts";
import type { ContainerEnd, ContainerRecord } from "./records.ts";
import { Wakeups } from "./wakeups.ts";

/** How long output is waited for after the program has ended and everything it left was killed. */
const DRAIN_PATIENCE = 2000;
const START_PATIENCE = 30_000;
const BEGIN_PATIENCE = 5000;
/** A shell has no more to do for it than to write one line. */
const CLAIM_PATIENCE = 1000;
/** How often it is tried again to write what the disk did not take. */
const ROOM_INTERVAL = 5000;

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
  readonly #files: ContainerFiles;
  readonly #keeper: Keeper;
  readonly #wakeups: Wakeups;
  readonly #readers = new Set<{ stream: LogStream; offset: number }>();
  #watch: ContainerWatch | undefined;
  #completing: NodeJS.Timeout | undefined;
  #end: ContainerEnd | undefined;
  #finishing: Promise<ContainerEnd> | undefined;
  #closed = false;

  constructor(options: ProcessContainerOptions) {
    this.options = options;
    this.record = options.record;
    this.#files = new ContainerFiles(options.directory);
    this.#keeper = new Keeper({ ...options, container: options.record.id, files: this.#files });
    this.#wakeups = new Wakeups(options.clock);
    this.#end = this.#files.end();
    this.#log = new LogCarrier({
      directory: options.directory,
      logFile: options.record.logFile,
      release: (stream, end) => {
        const needed = [...this.#readers].filter((reader) => reader.stream === stream).map((reader) => reader.offset);
        options.releaseRaw(this.#files.path(`${stream}.raw`), Math.min(end, ...needed));
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

  /** The process of ours that all of its own descend from; undefined where it has ended, or not begun. */
  keeper(): ProcessIdentity | undefined {
    return this.#end ? undefined : this.#files.keeper();
  }

  /** The program itself, while it runs. */
  main(): ProcessIdentity | undefined {
    const main = this.#files.identity("main");
    return main && isAlive(main) ? main : undefined;
  }

  /** Undefined where it does not run. */
  runningSince(): number | undefined {
    return this.#end ? undefined : this.main() && this.#files.started()?.time;
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
    const started = this.#files.started();
    if (!started) return { ...common, state: "created" };
    this.#keeper.mendCarriers();
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
    if (this.#files.exit()) return this.#finish();
    if (this.#files.isForsaken) return undefined;
    if (!this.#files.isClaimed) return undefined;
    await this.#claimWritten();
    if (this.#files.keeper()) return undefined;
    // It may have noted the end just before it ended itself.
    if (!this.#files.exit()) {
      await this.killPrograms();
      this.#files.noteExit("137 lost");
    }
    const end = await this.#finish();
    // What the keeper would have ended with itself.
    await this.options.reaper.kill({ matches: (each) => each.container === this.id });
    return end;
  }

  /** Unless it has been started, it never will be: it is as good as removed, and has not ended. */
  forsake(): boolean {
    return this.#files.forsake();
  }

  /** Resolves when a start that an earlier process of the node has begun is over: what is just beginning has not failed to. */
  async begun(): Promise<void> {
    if (!this.#files.isClaimed) return;
    await this.#claimWritten();
    const isUnderWay = () => this.#files.keeper() !== undefined && !this.#hasStarted();
    await this.#wakeups.until(() => !isUnderWay(), START_PATIENCE);
  }

  #hasStarted(): boolean {
    return this.#files.started() !== undefined || this.#files.exit() !== undefined;
  }

  async start(): Promise<void> {
    if (this.#files.isForsaken) throw new ProcessStartFailed({ id: this.id, reason: "it is to be made anew" });
    let failure: Error | undefined;
    if (!this.#files.isClaimed) {
      const keeper = this.#keeper.start();
      keeper.once("exit", () => this.#keeperEnded());
      keeper.once("error", (error) => {
        failure = error;
        this.#wakeups.wake();
      });
    }
    const settled = await this.#wakeups.until(() => this.#hasStarted() || failure !== undefined, START_PATIENCE);
    if (settled && !failure) return this.options.onChange();
    const reason = failure?.message ?? (this.#files.keeperLog() || "its keeper says nothing");
    throw new ProcessStartFailed({ id: this.id, reason }, { cause: failure });
  }

  /** Resolves when it has ended; what never ran will not. */
  async stop(graceSeconds: number, signal?: AbortSignal): Promise<void> {
    if (!this.#files.areThere) return await this.#endWithoutFiles();
    if ((await this.settle()) || this.#files.isForsaken) return;
    if (this.#files.claim()) {
      this.#files.noteExit("137 unstarted");
      await this.#finish();
      return;
    }
    const ended = () => this.#files.exit() !== undefined || !this.#files.keeper();
    // A start that is under way is not to be overtaken: there would be nothing to signal yet.
    await this.#wakeups.until(() => this.#files.identity("main") !== undefined || ended(), BEGIN_PATIENCE, signal);
    const main = this.main();
    if (main && graceSeconds > 0) {
      sendSignal(main, signalNumber(this.record.stopSignal));
      await this.#wakeups.until(ended, graceSeconds * 1000, signal);
      signal?.throwIfAborted();
    }
    await this.killPrograms();
    await this.#wakeups.until(ended, DRAIN_PATIENCE, signal);
    // Without a trace of its end the keeper itself is in the way.
    if (!this.#files.exit()) {
      await this.options.reaper.kill({ matches: (each) => each.container === this.id });
      this.#files.noteExit("137 lost");
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
    const init = contained ? this.#files.identity("init") : undefined;
    if (init) {
      sendSignal(init, "SIGKILL");
      if (await this.#wakeups.until(() => !isAlive(init), DRAIN_PATIENCE)) return;
    }
    const matches = (each: { container?: string; keeper: boolean }) => each.container === this.id && !each.keeper;
    await reaper.kill({ matches, ...(cgroup === undefined ? {} : { cgroup }) });
  }

  /** Ends everything, the keeper too; afterwards nothing can start it. */
  async remove(): Promise<void> {
    if (!this.#files.areThere || !this.forsake()) await this.stop(0);
    const kept = () => this.#files.keeper() !== undefined || this.#keeper.carriers().size > 0;
    await this.#wakeups.until(() => !kept(), DRAIN_PATIENCE);
    if (kept()) await this.options.reaper.kill({ matches: (each) => each.container === this.id });
    this.close();
    if (this.options.cgroups && this.record.cgroup !== undefined) this.options.cgroups.remove(this.record.cgroup);
  }

  /** Whether it has ended and all its output is in the raw files. */
  isOver(): boolean {
    return this.#end !== undefined || this.#closed || this.#files.isDrained;
  }

  async over(signal: AbortSignal): Promise<void> {
    while (!this.isOver() && !signal.aborted) await this.output(signal);
  }

  /** Resolves when there may be more output, or the container has ended. */
  output(signal: AbortSignal): Promise<void> {
    return this.#wakeups.output(signal, () => this.isOver());
  }

  /** Someone who reads a raw file, from `offset` on: what he has not read is not given up. */
  addReader(stream: LogStream, offset: number): { offset: number; close(): void } {
    const reader = { stream, offset, close: () => void this.#readers.delete(reader) };
    this.#readers.add(reader);
    return reader;
  }

  /** Whether a process is one of this container's, or of its keepers. */
  owns(pid: number): boolean {
    return this.#keeper.owns(pid);
  }

  reopenLog(): void {
    this.#log.reopen();
  }

  close(): void {
    this.#closed = true;
    this.#watch?.close();
    clearInterval(this.#completing);
    this.#log.close();
    this.#wakeups.wake();
  }

  /** It may have been killed; then there is no note of the program's end, and nothing that waits for it. */
  #keeperEnded(): void {
    this.#wakeups.wake();
    if (this.#closed) return;
    this.settle().catch((error: unknown) => {
      if (!this.#closed)
        this.options.logger.error("cannot settle a container", { container: this.id, error: describeError(error) });
    });
  }

  /** A claim without its line is one that is being written, unless it stays so: who wrote it is to be asked only then. */
  async #claimWritten(): Promise<void> {
    await this.#wakeups.until(() => this.#files.isClaimWhole, CLAIM_PATIENCE);
  }

  #finish(): Promise<ContainerEnd> {
    this.#finishing ??= this.#complete().finally(() => {
      this.#finishing = undefined;
    });
    return this.#finishing;
  }

  async #complete(): Promise<ContainerEnd> {
    await this.killPrograms();
    const drained = () => (this.#files.isDrained || !this.#files.keeper()) && this.#keeper.carriers().size === 0;
    await this.#wakeups.until(drained, DRAIN_PATIENCE);
    const isLogWhole = await this.#ifPossible("write the rest of a log", () => this.#log.drain());
    const { cgroups } = this.options;
    const { cgroup } = this.record;
    const end = endOf({
      exit: this.#files.exit() ?? { line: "137 lost", time: this.options.clock.now() },
      ...optional("main", this.#files.started()),
      ...optional("problem", this.#files.problem()),
      oomKills: cgroups && cgroup !== undefined ? cgroups.oomKills(cgroup) : 0,
    });
    if (this.#closed) return end;
    this.#end = end;
    const isNoted = await this.#ifPossible("note the end of a container", () => this.#files.noteEnd(end));
    if (cgroups && cgroup !== undefined) cgroups.remove(cgroup);
    if (isLogWhole && isNoted) this.close();
    else this.#completeLater(end);
    this.options.onChange();
    return end;
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
    this.#watch?.close();
    this.#completing = setInterval(async () => {
      try {
        await this.#log.drain();
        this.#files.noteEnd(end);
        this.close();
      } catch {
        // Said once, when it first failed.
      }
    }, ROOM_INTERVAL).unref();
  }

  #observe(): void {
    const { directory, logger } = this.options;
    this.#watch = new ContainerWatch({
      directory,
      onOutput: () => {
        this.#log.poke();
        this.#wakeups.wakeReaders();
      },
      onChange: () => this.#changed(),
      onLoss: (error) =>
        logger.warn("cannot watch a container, and look at it every second", {
          container: this.id,
          error: describeError(error),
        }),
    });
    this.#log.poke();
    this.#changed();
  }

  #changed(): void {
    this.#wakeups.wake();
    if (this.#closed || this.#end || this.#finishing || !this.#files.exit()) return;
    this.#finish().catch((error: unknown) => {
      if (!this.#closed)
        this.options.logger.error("cannot finish a container", { container: this.id, error: describeError(error) });
    });
  }
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
