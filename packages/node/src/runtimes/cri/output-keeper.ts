import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { setPriority } from "node:os";
import { join, resolve } from "node:path";
import { type Clock, sleep } from "@fjord/base";
import { keeperScript } from "./keeper-script.ts";

/** How long a keeper that has been replaced may take for what it reads: pipes that the runtime has left end within seconds. */
const HANDOVER_TIME = 8_000;
const HANDOVER_INTERVAL = 20;
/** By which a keeper is known among processes. */
const NAME = "fjord-node-outputs";

/** A pipe to be kept, open as `descriptor`. */
export interface OpenPipe {
  readonly path: string;
  readonly descriptor: number;
}

/** A pipe that was kept: where it was made, and where it can be opened though that may be gone. */
export interface KeptPipe {
  readonly path: string;
  readonly link: string;
}

/**
 * Keeps pipes open after this process was killed, for the one after it, and reads those that the runtime leaves meanwhile into
 * files of `directory`: a small process has them all, and is replaced when there are more. Whose number is in the file `keeper`
 * is the one; any other reads on what it has begun to, and ends. Where there is no shell the pipes end with this process.
 */
export class OutputKeeper {
  readonly #directory: string;
  readonly #file: string;
  readonly #clock: Clock;
  #child: ChildProcess | undefined;
  #earlier: number | undefined;

  constructor(directory: string, clock: Clock) {
    this.#directory = resolve(directory);
    this.#clock = clock;
    this.#file = join(this.#directory, "keeper");
    try {
      const pid = Number(readFileSync(this.#file, "utf8"));
      if (isKeeper(pid, this.#directory)) this.#earlier = pid;
    } catch {
      // There was none.
    }
  }

  /** Whether the keeper of the process before this one lives, and may read. */
  get hasEarlier(): boolean {
    if (this.#earlier !== undefined && !isKeeper(this.#earlier, this.#directory)) this.#earlier = undefined;
    return this.#earlier !== undefined;
  }

  /** What was kept for this process. */
  earlier(): KeptPipe[] {
    if (this.#earlier === undefined) return [];
    try {
      const folder = `/proc/${this.#earlier}/fd`;
      return readdirSync(folder).map((name) => {
        const link = `${folder}/${name}`;
        return { link, path: readlinkSync(link).replace(/ \(deleted\)$/, "") };
      });
    } catch {
      return [];
    }
  }

  /** From now on these are kept, and no others; whether they are. */
  keep(pipes: readonly OpenPipe[]): boolean {
    const before = this.#child;
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      const child = this.#start(pipes);
      if (child.pid === undefined) return false;
      this.#child = child;
      favour(child.pid);
      writeFileSync(`${this.#file}.new`, `${child.pid}\n`);
      renameSync(`${this.#file}.new`, this.#file);
      // It has read nothing as long as this process lives.
      before?.kill("SIGKILL");
      return true;
    } catch {
      // A disk that is full must not keep a container from starting.
      if (this.#child !== before) this.#child?.kill("SIGKILL");
      this.#child = before;
      return false;
    }
  }

  #start(pipes: readonly OpenPipe[]): ChildProcess {
    const descriptors = pipes.map(({ descriptor }) => descriptor);
    const paths = pipes.map(({ path }) => path);
    const earlier = this.hasEarlier ? String(this.#earlier) : "";
    const child = spawn("/bin/sh", ["-c", keeperScript, NAME, this.#directory, earlier, ...paths], {
      stdio: ["pipe", "ignore", "ignore", ...descriptors],
      // A signal to the group of this process, as by Ctrl-C, is not for it.
      detached: true,
    });
    child.on("error", () => {});
    child.stdin?.on("error", () => {});
    child.unref();
    (child.stdin as Socket | null)?.unref();
    return child;
  }

  /** When nobody but this process reads what it was handed. */
  async handedOver(): Promise<void> {
    const end = this.#clock.now() + HANDOVER_TIME;
    while (this.hasEarlier) {
      if (this.#clock.now() >= end) killGroup(this.#earlier as number);
      await sleep(this.#clock, HANDOVER_INTERVAL);
    }
  }

  close(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    rmSync(this.#file, { force: true });
  }
}

/** What it reads waits two seconds for it, on however busy a machine; it costs nothing as long as this process lives. */
function favour(pid: number): void {
  try {
    setPriority(pid, -10);
  } catch {
    // It takes privileges.
  }
}

/** A number may be another's by now. */
function isKeeper(pid: number, directory: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words[3] === NAME && words[4] === directory;
  } catch {
    return false;
  }
}

/** With what it reads by. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}
