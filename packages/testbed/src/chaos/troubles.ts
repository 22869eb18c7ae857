import { type Clock, sleep } from "@fjord/base";
import type { Continuum } from "../agents/index.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { SITES } from "./topology.ts";
import type { Trouble } from "./wishes.ts";

/** Brings trouble over a continuum, and takes all of it back. */
export class Troubles {
  readonly #continuum: Continuum;
  readonly #clock: Clock;
  readonly #healed = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** Processes that do not run because we wanted it. */
  readonly #down = new Set<ManagedProcess>();
  /** The last trouble of each process: one that is all of a control plane has the troubles of all its parts. */
  readonly #last = new Map<ManagedProcess, Promise<void>>();

  constructor(continuum: Continuum, clock: Clock) {
    this.#continuum = continuum;
    this.#clock = clock;
  }

  begin(trouble: Trouble): void {
    const run = this.#run(trouble).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Ends all trouble at once. */
  async heal(): Promise<void> {
    this.#healed.abort();
    await Promise.all(this.#running);
    await this.#continuum.bed.network.reset();
  }

  /** Starts what ended by itself, and says what: whatever serves must go on serving. */
  async revive(): Promise<string[]> {
    const ended = this.#continuum.bed.sites
      .flatMap(({ processes }) => processes)
      .filter((process) => !process.running && !this.#down.has(process));
    const told = ended.map(
      (process) => `${process.record.site}/${process.name} ended by itself: ${process.logTail(3)}`,
    );
    await Promise.all(ended.map((process) => process.start()));
    return told;
  }

  async #run(trouble: Trouble): Promise<void> {
    const { bed } = this.#continuum;
    const over = () => sleep(this.#clock, trouble.ms, this.#healed.signal);
    if (this.#healed.signal.aborted) return;
    if ("site" in trouble) {
      const process = bed.site(trouble.site).process(trouble.process);
      const turn = (this.#last.get(process) ?? Promise.resolve()).then(() => this.#befall(process, trouble.is, over));
      this.#last.set(process, turn);
      return turn;
    }
    const { from, to, latency } = trouble;
    if (trouble.is === "slow") {
      await bed.shape(from, to, { latency });
      await over();
      await bed.shape(from, to, { latency: 0 });
      return;
    }
    await bed.cut(from, to, { oneWay: trouble.is === "one-way", reset: trouble.is === "reset" });
    await over();
    await bed.heal(from, to);
  }

  async #befall(process: ManagedProcess, is: Trouble["is"], over: () => Promise<void>): Promise<void> {
    if (this.#healed.signal.aborted) return;
    if (is === "pause") {
      await process.pause();
      await over();
      await process.resume();
      return;
    }
    this.#down.add(process);
    await process.kill();
    await over();
    await process.start();
    this.#down.delete(process);
  }
}

/** Resident memory of the agents, in MB, by site. */
export function agentMemory(continuum: Continuum): Record<string, number> {
  return Object.fromEntries(SITES.map((site) => [site, Math.round(continuum.agent(site).process.memory / 2 ** 20)]));
}
