import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { Job, LoadAnswer, LoadMessage, LoadTarget } from "./requests.ts";

const program = join(import.meta.dirname, "load-process.ts");
const LONGEST_MS = 600_000;

export interface LoadOutcome {
  readonly seconds: number;
  readonly bytes: number;
  /** Of the load processes, all of them. */
  readonly cpuSeconds: number;
}

/** A job for some of the processes, and the connections that each of them has for it. */
export interface Share {
  readonly job: Job;
  readonly connections: number;
}

/** Processes that ask much of one API server. They are not what limits it: each is told what it has used. */
export class Load implements Disposable {
  readonly #children: ChildProcess[];

  constructor(target: LoadTarget, processes: number) {
    const env = { ...process.env, FJORD_BENCH_TARGET: JSON.stringify(target) };
    this.#children = Array.from({ length: processes }, () => fork(program, { env }));
  }

  get size(): number {
    return this.#children.length;
  }

  /**
   * One share for each process; timed from the word to go, when all have their connections, until the last is done.
   * `prepared` is waited for in between.
   */
  async run(shares: readonly Share[], signal: AbortSignal, prepared?: () => Promise<void>): Promise<LoadOutcome> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
    const used = this.#children.slice(0, shares.length);
    const prepare = (isWatch: boolean) =>
      shares.map(async (share, i) => {
        if ((share.job.kind === "watch") === isWatch)
          await ask(used[i] as ChildProcess, { do: "prepare", ...share }, limit);
      });
    // Many watches take long to open, and servers close connections on which nobody asks for anything.
    await Promise.all(prepare(true));
    await Promise.all(prepare(false));
    await prepared?.();
    const began = performance.now();
    const answers = await Promise.all(used.map((child) => ask(child, { do: "go" }, limit)));
    const seconds = (performance.now() - began) / 1000;
    const done = answers.filter((answer) => answer.is === "done");
    return {
      seconds,
      bytes: done.reduce((sum, { bytes }) => sum + bytes, 0),
      cpuSeconds: done.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    };
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}

function ask(child: ChildProcess, message: LoadMessage, signal: AbortSignal): Promise<LoadAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      child.off("message", answered);
      child.off("exit", exited);
      signal.removeEventListener("abort", aborted);
      end();
    };
    const answered = (answer: LoadAnswer) =>
      settle(() => (answer.is === "failed" ? reject(new Error(`load: ${answer.reason}`)) : resolve(answer)));
    const exited = (code: number | null) => settle(() => reject(new Error(`a process of load has ended with ${code}`)));
    const aborted = () => settle(() => reject(signal.reason));
    child.on("message", answered);
    child.on("exit", exited);
    signal.addEventListener("abort", aborted);
    child.send(message);
  });
}
