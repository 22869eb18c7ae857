import { type Clock, describeError, type Logger, onAbort } from "@fjord/base";
import { CachesNotSynced, LeadershipLost, ManagerStarted, StopTimedOut } from "./errors.ts";
import { type HealthCheck, HealthChecks } from "./health.ts";
import type { LeaderElector } from "./leader-election.ts";
import type { Runnable } from "./runnable.ts";
import { RunnableGroup } from "./runnable-group.ts";

export interface ManagerOptions {
  /** Absent: this process always leads. */
  leaderElection?: LeaderElector;
  /** How long work in hand may take after a stop. @default 30_000 */
  gracePeriodMs?: number;
  /** How long the caches may take to sync. @default 120_000 */
  syncTimeoutMs?: number;
  clock: Clock;
  logger: Logger;
}

/** Whatever holds caches: a `Cache`, or `SharedCaches`. */
export interface ManagedCache {
  readonly kind?: { readonly kind: string };
  run(signal: AbortSignal): Promise<void>;
  waitForSync?(signal: AbortSignal): Promise<unknown>;
}

/** What remains of the stop's time after the grace period, for dropping work and releasing the lease. */
const ABANDON_MS = 2_000;

/**
 * Starts everything of one process in order (early runnables, caches, their sync, runnables, and with leadership the
 * rest), stops it in the opposite order, and stops all when one fails. It runs once.
 */
export class Manager {
  /** Is it alive? Answers for /healthz. */
  readonly health: HealthChecks;
  /** Can it do its work? Answers for /readyz. Holds a check that caches are in sync. */
  readonly ready: HealthChecks;
  readonly #options: ManagerOptions;
  readonly #caches: ManagedCache[] = [];
  readonly #groups: Record<"early" | "caches" | "plain" | "leader", RunnableGroup>;
  readonly #failed = new AbortController();
  readonly #abandon = new AbortController();
  readonly #electionStop = new AbortController();
  #election: Promise<void> = Promise.resolve();
  #started = false;
  #synced = false;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.health = new HealthChecks(options);
    this.ready = new HealthChecks(options);
    this.ready.add("caches-synced", () => {
      if (!this.#synced) throw new Error("caches are not in sync yet");
    });
    const group = () => new RunnableGroup(options.logger, (error) => this.#fail(error));
    this.#groups = { early: group(), caches: group(), plain: group(), leader: group() };
  }

  /** Adds a controller or anything else that runs. */
  add(runnable: Runnable): this {
    this.#mustNotHaveStarted(`add ${runnable.name}`);
    const group = runnable.needsLeaderElection ? "leader" : runnable.early ? "early" : "plain";
    this.#groups[group].add(runnable);
    return this;
  }

  addCache(cache: ManagedCache): this {
    const name = `cache ${cache.kind?.kind ?? ""}`.trim();
    this.#mustNotHaveStarted(`add ${name}`);
    this.#caches.push(cache);
    this.#groups.caches.add({ name, run: (stop) => cache.run(stop) });
    return this;
  }

  addHealthCheck(name: string, check: HealthCheck): this {
    this.health.add(name, check);
    return this;
  }

  addReadyCheck(name: string, check: HealthCheck): this {
    this.ready.add(name, check);
    return this;
  }

  /** Resolves when `signal` has aborted and everything has stopped; rejects with the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    this.#mustNotHaveStarted("run it again");
    this.#started = true;
    const ended = AbortSignal.any([signal, this.#failed.signal]);
    try {
      await this.#start(ended);
      await new Promise<void>((resolve) => onAbort(ended, resolve));
    } catch (error) {
      this.#fail(error);
    }
    await this.#stopAll();
    if (this.#failed.signal.aborted) throw this.#failed.signal.reason;
  }

  async #start(ended: AbortSignal): Promise<void> {
    const { early, caches, plain, leader } = this.#groups;
    if (ended.aborted) return;
    early.start(this.#abandon.signal);
    caches.start(this.#abandon.signal);
    await this.#waitForSync(ended);
    if (ended.aborted) return;
    this.#synced = true;
    this.#options.logger.info("caches are in sync", { caches: this.#caches.length });
    plain.start(this.#abandon.signal);
    if (this.#options.leaderElection === undefined) leader.start(this.#abandon.signal);
    else this.#election = this.#elect(this.#options.leaderElection, leader);
  }

  async #waitForSync(ended: AbortSignal): Promise<void> {
    const { clock, syncTimeoutMs = 120_000 } = this.#options;
    const giveUp = new AbortController();
    const cancel = clock.after(syncTimeoutMs, () => giveUp.abort());
    try {
      const signal = AbortSignal.any([ended, giveUp.signal]);
      await Promise.all(this.#caches.map((cache) => cache.waitForSync?.(signal)));
    } catch (cause) {
      if (ended.aborted) return;
      throw new CachesNotSynced({ seconds: syncTimeoutMs / 1000, reason: describeError(cause) }, { cause });
    } finally {
      cancel();
    }
  }

  async #elect(elector: LeaderElector, leader: RunnableGroup): Promise<void> {
    try {
      await elector.run(this.#electionStop.signal, async (stop, lost) => {
        // The loss itself stops everything at once; `elector.run` would tell only after the runnables have ended.
        onAbort(lost, () => this.#fail(lost.reason));
        if (stop.aborted) return;
        leader.start(AbortSignal.any([lost, this.#abandon.signal]));
        await new Promise<void>((resolve) => onAbort(stop, resolve));
        await leader.stop();
      });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #stopAll(): Promise<void> {
    const { clock, logger } = this.#options;
    const { early, caches, plain, leader } = this.#groups;
    const { graceMs, abandonMs } = this.#timeToStop();
    const tooLate = Promise.withResolvers<"too late">();
    let cancel = clock.after(graceMs, () => {
      this.#abandon.abort();
      cancel = clock.after(abandonMs, () => tooLate.resolve("too late"));
    });
    const inOrder = async () => {
      this.#electionStop.abort();
      await Promise.all([this.#election, leader.stop(), plain.stop()]);
      await caches.stop();
      await early.stop();
    };
    const outcome = await Promise.race([inOrder(), tooLate.promise]);
    cancel();
    if (outcome !== "too late") return logger.info("everything has stopped");
    const names = [leader, plain, caches, early].flatMap((group) => group.running).join(", ");
    this.#fail(new StopTimedOut({ seconds: (graceMs + abandonMs) / 1000, names: names || "leader election" }));
  }

  #timeToStop(): { graceMs: number; abandonMs: number } {
    const { gracePeriodMs = 30_000, leaderElection } = this.#options;
    const lost = this.#failed.signal.reason instanceof LeadershipLost;
    // Another may lead as soon as the lease is over: no work may go on beyond that.
    if (lost && leaderElection !== undefined) return { graceMs: 0, abandonMs: leaderElection.stopTimeMs };
    return { graceMs: gracePeriodMs, abandonMs: ABANDON_MS };
  }

  /** The first failure is the one that `run` rejects with; later ones are most often its consequences. */
  #fail(error: unknown): void {
    if (!this.#failed.signal.aborted) this.#failed.abort(error);
    else if (this.#failed.signal.reason !== error) {
      this.#options.logger.warn("another failure while stopping", { error: describeError(error) });
    }
  }

  #mustNotHaveStarted(action: string): void {
    if (this.#started) throw new ManagerStarted({ action });
  }
}
