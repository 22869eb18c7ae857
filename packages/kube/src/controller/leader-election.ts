import { type Clock, describeError, type Logger, onAbort, type Random, sleep } from "@fjord/base";
import { ifNotFound, isAlreadyExists, isConflict, isNotFound } from "../client/api-error.ts";
import type { Reader, Writer } from "../client/interfaces.ts";
import { Lease } from "../kinds/coordination.ts";
import { type Metrics, noMetrics } from "./controller-metrics.ts";
import { LeadershipLost } from "./errors.ts";
import { claimedSpec, leaseMove, leasePulse, releasedSpec } from "./lease-record.ts";
import { checkLeaseTiming, type LeaseTiming, Tenure } from "./lease-timing.ts";
import { scopedLogger } from "./scoped-logger.ts";

export interface LeaderElectionOptions extends Partial<LeaseTiming> {
  client: Pick<Reader, "get"> & Pick<Writer, "create" | "update">;
  namespace: string;
  /** Name of the lease that the candidates share. */
  name: string;
  /** Names the candidate to people, such as by its host; each run adds something random, so that no two are the same. */
  identity: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  metrics?: Metrics;
}

/** What is done while leading: until `stop` aborts, and at once dropped when leadership is lost (`abandon`). */
export type Lead = (stop: AbortSignal, abandon: AbortSignal) => Promise<void>;

/**
 * One candidate for the leadership that a Lease stands for. Safe whatever the candidates' clocks say, as long as they
 * run at about the same speed: durations are measured by timers from what was seen here, never from written times.
 */
export class LeaderElector {
  readonly #options: LeaderElectionOptions;
  readonly #timing: LeaseTiming;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #lease: string;
  /** Of this run: were it the same for two candidates, each would take the other's lease for its own, and both lead. */
  #identity = "";
  #seen: Lease | undefined;
  #expired = false;
  #forgetExpiry: () => void = () => {};
  #leading = false;
  #tenure: Tenure | undefined;

  constructor(options: LeaderElectionOptions) {
    const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
    this.#options = options;
    this.#timing = { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
    this.#lease = `${options.namespace}/${options.name}`;
    this.#metrics = options.metrics ?? noMetrics;
    this.#log = scopedLogger(options.logger, { lease: this.#lease, identity: options.identity });
    checkLeaseTiming(this.#lease, this.#timing);
  }

  /**
   * Whether this candidate may act as the leader now. Unlike the signals it also knows after the whole process was
   * frozen for a while: worth a look right before a step that must not happen twice.
   */
  get leading(): boolean {
    return this.#leading && !this.#tenure?.isOver;
  }

  /** Who holds the lease, as far as was seen: an identity with what its run added to it. */
  get holder(): string | undefined {
    return this.#seen?.spec?.holderIdentity;
  }

  /** Between losing the right to lead and another's right to begin: what `Lead` has to stop. */
  get stopTimeMs(): number {
    return this.#timing.leaseDurationMs - this.#timing.renewDeadlineMs;
  }

  /**
   * Waits for leadership, then calls `lead` once. Resolves after `stop` aborted and `lead` and the release are done;
   * rejects with `LeadershipLost`, or with what `lead` rejects with.
   */
  async run(stop: AbortSignal, lead: Lead): Promise<void> {
    const { identity, random } = this.#options;
    this.#identity = `${identity}_${Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(12, "0")}`;
    try {
      const heldSince = await this.#acquire(stop);
      if (heldSince !== undefined) await this.#lead(heldSince, stop, lead);
    } finally {
      this.#forgetExpiry();
    }
  }

  /** Resolves with a cancelable deadline that began before the lease was ours; undefined on abort. */
  async #acquire(stop: AbortSignal): Promise<Tenure | undefined> {
    const { clock, random } = this.#options;
    this.#metrics.leading(this.#options.name, false);
    this.#log.info("waiting for leadership");
    while (!stop.aborted) {
      const tenure = new Tenure(clock, this.#timing.renewDeadlineMs);
      const held = await this.#attempt(AbortSignal.any([stop, tenure.over]));
      // A claim that took too long to be confirmed may be over already; and a stop in between must free the lease.
      if (held && !tenure.over.aborted) return tenure;
      tenure.end();
      await sleep(clock, this.#timing.retryPeriodMs * (1 + 0.2 * random()), stop);
    }
    return undefined;
  }

  async #lead(first: Tenure, stop: AbortSignal, lead: Lead): Promise<void> {
    const lost = new AbortController();
    const finished = new AbortController();
    this.#setLeading(true);
    const renewing = this.#renew(first, lost, finished.signal);
    try {
      await lead(AbortSignal.any([stop, lost.signal]), lost.signal);
    } finally {
      finished.abort();
      await renewing;
      this.#setLeading(false);
      if (!lost.signal.aborted) await this.#release();
    }
    if (lost.signal.aborted) throw lost.signal.reason;
  }

  /** Renews until `finished`, which comes after the work has ended: nobody may lead while that winds down. */
  async #renew(first: Tenure, lost: AbortController, finished: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const identity = this.#identity;
    let tenure = first;
    this.#tenure = first;
    const lose = (reason: string) => lost.abort(new LeadershipLost({ identity, lease: this.#lease, reason }));
    const watch = () =>
      onAbort(tenure.over, () => lose(`it was not renewed within ${this.#timing.renewDeadlineMs} ms`));
    let unwatch = watch();
    for (;;) {
      await sleep(clock, this.#timing.retryPeriodMs, AbortSignal.any([finished, tenure.over]));
      if (finished.aborted || lost.signal.aborted) break;
      const next = new Tenure(clock, this.#timing.renewDeadlineMs);
      const held = await this.#attempt(AbortSignal.any([finished, tenure.over]));
      if (held && !tenure.over.aborted) {
        unwatch();
        tenure.end();
        tenure = next;
        this.#tenure = next;
        unwatch = watch();
        continue;
      }
      next.end();
      const { holder } = this;
      if (!lost.signal.aborted && !finished.aborted && holder !== identity) {
        lose(holder ? `${holder} holds it` : "somebody freed it");
      }
    }
    unwatch();
    tenure.end();
  }

  /** One try to get or keep the lease. */
  async #attempt(signal: AbortSignal): Promise<boolean> {
    try {
      // A leader knows the lease as it left it, and needs no look before it renews.
      if (!this.#leading) this.#observe(await this.#get(signal));
      return await this.#claim(signal);
    } catch (error) {
      if (signal.aborted) return false;
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) {
        this.#log.warn("cannot reach the lease", { error: describeError(error) });
        return false;
      }
      return this.#lookAgain(signal);
    }
  }

  /** Somebody else wrote the lease: see who holds it, and as the leader claim it once more if it is still ours. */
  async #lookAgain(signal: AbortSignal): Promise<boolean> {
    try {
      this.#observe(await this.#get(signal));
      return this.#leading && (this.#seen === undefined || this.holder === this.#identity)
        ? await this.#claim(signal)
        : false;
    } catch (error) {
      if (!signal.aborted) this.#log.warn("cannot reach the lease", { error: describeError(error) });
      return false;
    }
  }

  async #get(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, name, namespace } = this.#options;
    return await client.get(Lease, { name, namespace }, { signal }).catch(ifNotFound);
  }

  async #claim(signal: AbortSignal): Promise<boolean> {
    const { client, clock, name, namespace } = this.#options;
    const identity = this.#identity;
    const move = leaseMove(this.#seen, identity, this.#expired);
    if (move === "wait") return false;
    const durationMs = this.#timing.leaseDurationMs;
    const spec = claimedSpec(this.#seen?.spec, { identity, durationMs, now: clock.now() });
    const lease: Lease =
      this.#seen === undefined
        ? { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace }, spec }
        : { ...this.#seen, spec };
    const write = move === "create" ? client.create(Lease, lease, { signal }) : client.update(Lease, lease, { signal });
    this.#observe(await write);
    return true;
  }

  /** Restarts the wait for expiry whenever the lease shows a sign of life. */
  #observe(lease: Lease | undefined): void {
    const { clock } = this.#options;
    const alive = lease !== undefined && (this.#seen === undefined || leasePulse(lease) !== leasePulse(this.#seen));
    this.#seen = lease;
    if (lease !== undefined && !alive) return;
    this.#forgetExpiry();
    this.#forgetExpiry = () => {};
    this.#expired = false;
    if (lease === undefined) return;
    const seconds = lease.spec?.leaseDurationSeconds;
    const durationMs = seconds !== undefined && seconds > 0 ? seconds * 1000 : this.#timing.leaseDurationMs;
    this.#forgetExpiry = clock.after(durationMs, () => {
      this.#expired = true;
    });
  }

  async #release(): Promise<void> {
    const { client, clock } = this.#options;
    if (this.#seen?.spec === undefined) return;
    const giveUp = new AbortController();
    const cancel = clock.after(this.stopTimeMs, () => giveUp.abort());
    try {
      const spec = releasedSpec(this.#seen.spec, clock.now());
      this.#seen = await client.update(Lease, { ...this.#seen, spec }, { signal: giveUp.signal });
      this.#log.info("leadership released");
    } catch (error) {
      this.#log.warn("cannot release the lease: others wait until it expires", { error: describeError(error) });
    } finally {
      cancel();
    }
  }

  #setLeading(leading: boolean): void {
    this.#leading = leading;
    this.#metrics.leading(this.#options.name, leading);
    this.#log.info(leading ? "leadership acquired" : "leadership ended");
  }
}
