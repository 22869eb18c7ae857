import { setTimeout as pause } from "node:timers/promises";
import type { ManagedProcess } from "@fjord/testbed";
import { cpuSeconds } from "@fjord/testbed/bench";
import { inParallel } from "./in-parallel.ts";

export interface PhaseOptions {
  /** What there is more and more of. */
  readonly what: string;
  readonly count: number;
  /** The simulator. */
  readonly child: ManagedProcess;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

const AT_ONCE = 32;
const TELL_MS = 30_000;
const POLL_MS = 500;
/** Whatever is slower than this is broken, and would keep a run from its end. */
const SLOWEST_PER_SECOND = 25;
const LEAST_MS = 120_000;

/** A part of a scenario: timed, never longer than it may take, and told of while it goes on. */
export class Phase {
  readonly #options: PhaseOptions;
  readonly #start = performance.now();
  #toldAt = performance.now();

  constructor(options: PhaseOptions) {
    this.#options = options;
  }

  async run(work: (phase: Phase) => Promise<void>): Promise<{ seconds: number; cpuSeconds: number }> {
    const { what, count, child, progress } = this.#options;
    const before = cpuSeconds(child.pid ?? 0);
    await work(this);
    const seconds = (performance.now() - this.#start) / 1000;
    progress(`${count} ${what} after ${seconds.toFixed(1)} s`);
    return { seconds, cpuSeconds: cpuSeconds(child.pid ?? 0) - before };
  }

  /** Asks for all of them, some at once. */
  async ask(job: (index: number) => Promise<unknown>): Promise<void> {
    await inParallel(this.#options.count, AT_ONCE, async (index) => {
      this.#check(`${index} of ${this.#options.count} asked for`);
      await job(index);
    });
  }

  async until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) {
      this.#check("all asked for");
      await pause(POLL_MS);
    }
  }

  #check(state: string): void {
    const { what, count, child, signal, progress } = this.#options;
    signal.throwIfAborted();
    if (!child.running) throw new Error(`${child.name} has ended: ${child.logTail(5)}`);
    const now = performance.now();
    const limit = LEAST_MS + (count * 1000) / SLOWEST_PER_SECOND;
    if (now - this.#start > limit) throw new Error(`${child.name}: ${what}: not within ${Math.round(limit / 1000)} s`);
    if (now - this.#toldAt < TELL_MS) return;
    this.#toldAt = now;
    progress(`${what}: ${state}`);
  }
}
