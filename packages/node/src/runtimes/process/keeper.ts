import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { describeError, type Logger } from "@fjord/base";
import type { LogStream } from "../../logs/cri-log.ts";
import type { ContainerFiles } from "./container-files.ts";
import { readLine, writeWhole } from "./files.ts";
import { STREAMS } from "./log-carrier.ts";
import { CONTAINER_MARK, KEEPER_MARK, POD_MARK, parseMarks, readProc, readStat } from "./process-table.ts";

export interface KeeperOptions {
  readonly container: string;
  readonly podUid: string;
  readonly files: ContainerFiles;
  readonly shell: string;
  readonly cat: string;
  readonly logger: Logger;
}

/** The processes of ours that stand by a container: its keeper, and those that carry its output. They outlive the node. */
export class Keeper {
  readonly #options: KeeperOptions;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  start(): ChildProcess {
    return this.#detach([this.#options.files.path("keeper.sh")]);
  }

  /** Whether a process is one of this container's, or of its keepers. */
  owns(pid: number): boolean {
    return parseMarks(readProc(`/proc/${pid}/environ`) ?? "")?.container === this.#options.container;
  }

  /** The processes that carry output to the raw files, by stream; those that were killed are missing. */
  carriers(): Map<LogStream, number> {
    const pids = readLine(this.#options.files.path("carriers"))?.line.split(" ") ?? [];
    const alive = STREAMS.flatMap((stream, index) => {
      const pid = Number(pids[index]);
      return pid > 0 && readStat(pid) && this.owns(pid) ? [[stream, pid] as const] : [];
    });
    return new Map(alive);
  }

  /** A carrier that was killed leaves the program with a pipe that nobody reads: another takes its place. */
  mendCarriers(): void {
    const { files, container, cat, logger } = this.#options;
    if (!readLine(files.path("carriers"))) return;
    const carriers = this.carriers();
    // They end with the program, but not before its end is noted.
    if (carriers.size === STREAMS.length || files.exit() || !files.keeper()) return;
    for (const stream of STREAMS) {
      if (carriers.has(stream)) continue;
      logger.warn("a carrier of logs was killed", { container, stream });
      // A pipe that everyone else has closed meanwhile can not be opened just for reading.
      const words = ["-c", `exec 5<>${stream} 6<${stream}; exec "$0" <&6 >>${stream}.raw 5>&- 6<&-`, cat];
      const child = this.#detach(words);
      if (child.pid !== undefined) carriers.set(stream, child.pid);
    }
    writeWhole(files.path("carriers"), `${STREAMS.map((stream) => carriers.get(stream) ?? 0).join(" ")}\n`);
  }

  /** Starts a shell that outlives this process. */
  #detach(words: readonly string[]): ChildProcess {
    const { files, shell, podUid, container, logger } = this.#options;
    const errors = openSync(files.path("keeper.log"), "a", 0o600);
    try {
      const child = spawn(shell, [...words], {
        cwd: files.directory,
        detached: true,
        stdio: ["ignore", errors, errors],
        env: { [POD_MARK]: podUid, [CONTAINER_MARK]: container, [KEEPER_MARK]: "1" },
      });
      child.once("error", (error) => logger.error("cannot start a keeper", { container, error: describeError(error) }));
      child.unref();
      return child;
    } finally {
      closeSync(errors);
    }
  }
}
