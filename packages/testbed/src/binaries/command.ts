import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type Clock, onAbort } from "@fjord/base";
import { CommandFailed } from "./errors.ts";
import type { Environment } from "./platform.ts";

export interface CommandOptions {
  readonly cwd: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called for each line of either stream. Lines for which it returns true are noise: an error does not repeat them. */
  readonly onLine?: (line: string) => boolean;
}

const TAIL_LINES = 15;
const GRACE_MS = 5_000;

/**
 * Runs a command to its end and returns what it wrote to standard output; a failure carries its last lines. It leads a process group of
 * its own, so that an abort ends the compilers that it started along with it.
 */
export async function runCommand(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  options.signal.throwIfAborted();
  const child = spawn(command, args, {
    cwd: options.cwd,
    detached: true,
    env: options.env as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const tail: string[] = [];
  const stdout: string[] = [];
  createInterface(child.stdout).on("line", (line) => {
    stdout.push(line);
    note(line);
  });
  createInterface(child.stderr).on("line", note);
  let cancelKill = () => {};
  const stopListening = onAbort(options.signal, () => {
    signalGroup(child.pid, "SIGTERM");
    cancelKill = options.clock.after(GRACE_MS, () => signalGroup(child.pid, "SIGKILL"));
  });
  function note(line: string): void {
    if (options.onLine?.(line)) return;
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
  }
  try {
    const outcome = await new Promise<string | undefined>((resolve) => {
      child.on("error", (error) => resolve(`could not be started (${error.message})`));
      child.on("close", (code, signal) =>
        resolve(code === 0 ? undefined : signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`),
      );
    });
    options.signal.throwIfAborted();
    if (outcome === undefined) return stdout.join("\n");
    const output = tail.length === 0 ? "" : `; its last lines:\n${tail.map((line) => `    ${line}`).join("\n")}`;
    throw new CommandFailed({ command: [command, ...args].join(" ").slice(0, 200), outcome, output });
  } finally {
    cancelKill();
    stopListening();
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
