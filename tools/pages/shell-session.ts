import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

export interface SessionOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface Typed {
  readonly status: number;
  readonly printed: string;
  /** What went to standard error: progress, and why it failed. */
  readonly said: string;
}

/** Ends what a command prints, with its status. */
const MARK = "\u001e";

/** One shell in which a page's commands are typed one after the other, with background jobs as on a terminal. */
export class ShellSession {
  readonly #shell: ChildProcess;
  #out = "";
  #err = "";

  constructor({ cwd, env }: SessionOptions) {
    this.#shell = spawn("bash", ["--norc", "--noprofile"], { cwd, env, detached: true });
    this.#shell.stdout?.setEncoding("utf8").on("data", (text: string) => (this.#out += text));
    this.#shell.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#err += text));
    this.#write("set -m");
  }

  /** Waits until it has ended; of one in the background, until `isSeen` of what it has printed. */
  async type(command: string, { patienceMs, isSeen }: { patienceMs: number; isSeen: (printed: string) => boolean }) {
    this.#out = "";
    this.#err = "";
    this.#write(`{ eval ${quoted(command)}\n} </dev/null; printf '${MARK}%s${MARK}' $?; printf '${MARK}' >&2`);
    const end = performance.now() + patienceMs;
    const isBehind = command.trimEnd().endsWith("&");
    for (;;) {
      const [before = "", status, after] = this.#out.split(MARK);
      const result: Typed = {
        status: Number(status),
        printed: before + (after ?? ""),
        said: this.#err.split(MARK)[0] ?? "",
      };
      const isOver = after !== undefined && this.#err.includes(MARK);
      if (isOver && (!isBehind || isSeen(result.printed))) return result;
      if (performance.now() > end || this.#shell.exitCode !== null) return { ...result, status: result.status || -1 };
      await pause(10);
    }
  }

  /** Ends the shell; what it has left in the background is the page's to end. */
  async close(): Promise<void> {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    const ended = once(this.#shell, "exit");
    this.#write("exit 0");
    const timer = setTimeout(() => this.#shell.kill("SIGKILL"), 2_000);
    await ended;
    clearTimeout(timer);
  }

  #write(line: string): void {
    this.#shell.stdin?.write(`${line}\n`);
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
