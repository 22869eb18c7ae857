import { type ChildProcess, spawn } from "node:child_process";
import { ChildSeconds } from "./processors.ts";

export interface NodeRun {
  /** What the process ended with; 1 where a signal ended it. */
  code: number;
  timedOut: boolean;
  /** Of the processors, by it and by what it waited for; undefined where the system does not tell. */
  cpuSeconds: number | undefined;
}

export interface NodeRunOptions {
  cwd: string;
  minutes: number;
  output?: (chunk: Buffer) => void;
  /** Beside our own environment. */
  env?: Record<string, string>;
}

/** How long the last of the output is waited for. */
const LAST_OUTPUT_MS = 2_000;

const childSeconds = new ChildSeconds();
const running = new Set<ChildProcess>();
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/** What to end with once those that run have ended; undefined while nobody has told us to end. */
let told: number | undefined;
for (const [signal, code] of Object.entries(SIGNALS) as [keyof typeof SIGNALS, number][]) {
  process.on(signal, () => {
    told = code;
    for (const child of running) signalGroup(child, signal);
    if (running.size === 0) process.exit(code);
  });
}

/**
 * Runs node in a process group of its own, so that a test file that hangs is ended with all that it started. Its output
 * goes to ours, or to `output` where that is given.
 */
export function runNode(args: string[], { cwd, minutes, output, env: more }: NodeRunOptions): Promise<NodeRun> {
  if (told !== undefined) return new Promise(() => {});
  const stdio = output === undefined ? "inherit" : "pipe";
  // A test runner below another one would speak to that one instead of to us.
  const { NODE_TEST_CONTEXT: _, ...env } = { ...process.env, ...more };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", stdio, stdio], detached: true });
  if (output !== undefined) for (const stream of [child.stdout, child.stderr]) stream?.on("data", output);
  running.add(child);
  let timedOut = false;
  const watchdog = setTimeout(() => {
    timedOut = true;
    signalGroup(child, "SIGKILL");
  }, minutes * 60_000);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      clearTimeout(watchdog);
      const cpuSeconds = childSeconds.next();
      running.delete(child);
      if (told !== undefined && running.size === 0) process.exit(told);
      const end = () => resolve({ code: code ?? 1, timedOut, cpuSeconds });
      child.once("close", end);
      // What a test has left behind may hold the pipes for ever.
      setTimeout(end, LAST_OUTPUT_MS).unref();
    });
  });
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), signal);
  } catch {
    // It has ended by itself.
  }
}
