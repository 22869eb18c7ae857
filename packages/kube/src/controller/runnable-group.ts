import { describeError, type Logger } from "@fjord/base";
import type { Runnable } from "./runnable.ts";

/** Runnables that start and stop together. */
export class RunnableGroup {
  readonly #members: Runnable[] = [];
  readonly #running = new Map<Runnable, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #logger: Logger;
  readonly #crashed: (error: unknown) => void;

  constructor(logger: Logger, crashed: (error: unknown) => void) {
    this.#logger = logger;
    this.#crashed = crashed;
  }

  add(member: Runnable): void {
    this.#members.push(member);
  }

  /** Names of those that have not ended. */
  get running(): string[] {
    return [...this.#running.keys()].map(({ name }) => name);
  }

  start(abandon: AbortSignal): void {
    for (const member of this.#members) this.#running.set(member, this.#run(member, abandon));
  }

  /** Tells all of them to stop, and waits until they have. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  async #run(member: Runnable, abandon: AbortSignal): Promise<void> {
    const stop = this.#stop.signal;
    try {
      await member.run(stop, abandon);
    } catch (error) {
      // What is told to stop may end with the abort itself.
      const byAbort = error === stop.reason || (error instanceof Error && error.name === "AbortError");
      if (stop.aborted && byAbort) return;
      this.#logger.error("runnable failed", { runnable: member.name, error: describeError(error) });
      this.#crashed(error);
    } finally {
      this.#running.delete(member);
    }
  }
}
