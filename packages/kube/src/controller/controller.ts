import {
  type Clock,
  describeError,
  FjordError,
  type LogFields,
  type Logger,
  onAbort,
  type Random,
  WorkQueue,
  type WorkQueueOptions,
} from "@fjord/base";
import { type ControllerMetrics, type Metrics, noMetrics } from "./controller-metrics.ts";
import { ReconcileTimedOut, SourceNotSynced } from "./errors.ts";
import { formatRequest, parseRequest, type Request } from "./request.ts";
import type { Result } from "./result.ts";
import type { Runnable } from "./runnable.ts";
import { scopedLogger } from "./scoped-logger.ts";
import type { Watch } from "./source.ts";

export interface ReconcileContext {
  /** Aborts when the work must be dropped: stop without grace, lost leadership, timeout. Pass it to every call. */
  readonly signal: AbortSignal;
  /** Names the controller and the object in every line. */
  readonly log: Logger;
  /** How often in a row this object has failed before. */
  readonly failures: number;
}

/**
 * Brings the world closer to what one object asks for. It is told the name alone, is never run twice at once for the
 * same name, and may be run at any time: look at how things are, and change only what differs.
 */
export type Reconcile = (request: Request, context: ReconcileContext) => Promise<Result>;

export interface ControllerOptions {
  /** Unique in the process: it names metrics and logs. */
  name: string;
  sources: Watch[];
  reconcile: Reconcile;
  /** How many objects are reconciled at the same time. @default 1 */
  concurrency?: number;
  /** @default true */
  needsLeaderElection?: boolean;
  /** How long one reconciliation may take. @default no bound */
  timeoutMs?: number;
  /** How long the sources may take to sync. @default 120_000 */
  syncTimeoutMs?: number;
  backoff?: WorkQueueOptions["backoff"];
  retryRate?: WorkQueueOptions["retryRate"];
  clock: Clock;
  random: Random;
  logger: Logger;
  metrics?: Metrics;
}

/** Calls a reconciler for every object that its sources name, one call per object at a time. */
export class Controller implements Runnable {
  readonly name: string;
  readonly needsLeaderElection: boolean;
  readonly #options: ControllerOptions;
  readonly #log: Logger;
  readonly #queue: WorkQueue;
  readonly #metrics: ControllerMetrics;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.needsLeaderElection = options.needsLeaderElection ?? true;
    this.#options = options;
    this.#log = scopedLogger(options.logger, { controller: options.name });
    this.#metrics = (options.metrics ?? noMetrics).controller(options.name);
    this.#queue = new WorkQueue({ ...options, observer: this.#metrics.queue });
  }

  /** Asks for a reconciliation from outside the sources, such as a timer or a callback. */
  enqueue(request: Request, afterMs = 0): void {
    this.#queue.addAfter(formatRequest(request), afterMs);
  }

  /** See `Runnable`. Run alone, work in hand sees `stop` itself. A controller runs once. */
  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const { sources, concurrency = 1 } = this.#options;
    const unobserve = this.#metrics.observe(this.#queue, concurrency);
    const subscriptions = sources.map((source) => source.subscribe((request) => this.enqueue(request)));
    try {
      await this.#waitForSync(stop);
      if (stop.aborted) return;
      this.#log.info("controller started", { workers: concurrency });
      await Promise.all(Array.from({ length: concurrency }, () => this.#work(stop, abandon)));
      this.#log.info("controller stopped");
    } finally {
      for (const unsubscribe of subscriptions) unsubscribe();
      void this.#queue.shutDown();
      unobserve();
    }
  }

  async #waitForSync(stop: AbortSignal): Promise<void> {
    const { clock, sources, syncTimeoutMs = 120_000 } = this.#options;
    const giveUp = new AbortController();
    const cancel = clock.after(syncTimeoutMs, () => giveUp.abort());
    const signal = AbortSignal.any([stop, giveUp.signal]);
    try {
      await Promise.all(sources.map((source) => source.waitForSync(signal)));
    } catch (cause) {
      if (stop.aborted) return;
      const values = { controller: this.name, seconds: syncTimeoutMs / 1000, reason: describeError(cause) };
      throw new SourceNotSynced(values, { cause });
    } finally {
      cancel();
    }
  }

  async #work(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.next(stop);
      if (key === undefined) return;
      await this.#reconcile(key, abandon);
      this.#queue.done(key);
    }
  }

  async #reconcile(key: string, abandon: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const started = clock.now();
    const request = parseRequest(key);
    const log = scopedLogger(this.#log, { ...request });
    const deadline = this.#deadline(key, abandon);
    this.#metrics.reconcileStarted();
    const end = (outcome: Parameters<ControllerMetrics["reconcileEnded"]>[0]) =>
      this.#metrics.reconcileEnded(outcome, (clock.now() - started) / 1000);
    try {
      const failures = this.#queue.failures(key);
      const result = await this.#options.reconcile(request, { signal: deadline.signal, log, failures });
      this.#queue.forget(key);
      if (result.type === "again") this.#queue.addAfter(key, result.afterMs);
      if (result.type === "terminal") log.error("reconciling failed for good", failure(result.error));
      end(result.type === "done" ? "success" : result.type === "again" ? "requeue_after" : "terminal");
    } catch (error) {
      if (abandon.aborted) {
        log.debug("reconciling was abandoned", { error: describeError(error) });
      } else {
        log.warn("reconciling failed", { ...failure(error), failures: this.#queue.failures(key) + 1 });
        this.#queue.addRateLimited(key);
      }
      end("error");
    } finally {
      deadline.cancel();
    }
  }

  #deadline(key: string, abandon: AbortSignal): { signal: AbortSignal; cancel: () => void } {
    const { clock, timeoutMs } = this.#options;
    // A signal of its own for each reconciliation: listeners that work leaves behind go with it.
    const own = new AbortController();
    const stopListening = onAbort(abandon, () => own.abort(abandon.reason));
    const cancelTimer =
      timeoutMs === undefined
        ? () => {}
        : clock.after(timeoutMs, () =>
            own.abort(new ReconcileTimedOut({ controller: this.name, object: key, seconds: timeoutMs / 1000 })),
          );
    return {
      signal: own.signal,
      cancel: () => {
        stopListening();
        cancelTimer();
      },
    };
  }
}

/** Where an error comes from matters only when nobody foresaw it. */
function failure(error: unknown): LogFields {
  const unforeseen = error instanceof Error && !(error instanceof FjordError);
  return { error: describeError(error), ...(unforeseen && { stack: error.stack }) };
}
