import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";

/** How long pipes are kept for the process after this one, in seconds. */
const AFTERLIFE = 120;

/** A pipe that is kept: where it was made, and where it can be opened though that may be gone. */
export interface KeptPipe {
  readonly path: string;
  readonly link: string;
}

/**
 * Keeps pipes open after this process was killed, for the one after it: a small process has them all, and is replaced when
 * there are more. Where there is no shell they end with this process.
 */
export class OutputKeeper {
  readonly #file: string;
  #child: ChildProcess | undefined;

  /** `file`: where it is noted which process has them. */
  constructor(file: string) {
    this.#file = file;
  }

  /** What was kept for this process. Whoever has it ends by itself: nobody can tell that its number is not another's. */
  earlier(): KeptPipe[] {
    try {
      const folder = `/proc/${Number(readFileSync(this.#file, "utf8"))}/fd`;
      return readdirSync(folder).map((name) => {
        const link = `${folder}/${name}`;
        return { link, path: readlinkSync(link).replace(/ \(deleted\)$/, "") };
      });
    } catch {
      return [];
    }
  }

  keep(descriptors: readonly number[]): void {
    const before = this.#child;
    const child = spawn("/bin/sh", ["-c", `read -r _; exec sleep ${AFTERLIFE}`], {
      stdio: ["pipe", "ignore", "ignore", ...descriptors],
      // A signal to the group of this process, as by Ctrl-C, is not for it.
      detached: true,
    });
    child.on("error", () => {});
    child.stdin?.on("error", () => {});
    child.unref();
    (child.stdin as Socket | null)?.unref();
    if (child.pid === undefined) return;
    this.#child = child;
    try {
      writeFileSync(this.#file, String(child.pid));
      before?.kill("SIGKILL");
    } catch {
      // A disk that is full must not keep a container from starting.
    }
  }

  close(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
  }
}
