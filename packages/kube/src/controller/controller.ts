import {
  type Clock,
  describeError,
  FjordError,
  type LogFields,
  type Logger,
  onAbort,
  type Random,
  sleep,
  WorkQueue,
  type WorkQueueOptions,
} from "@fjord/base";
import { type ControllerMetrics, type Metrics, noMetrics } from "./controller-metrics.ts";
import { InvalidResult, ReconcileTimedOut, SourceNotSynced } from "./errors.ts";
import { Context, Deadline } from "./reconcile-context.ts";
import { formatRequest, parseRequest, type Request } from "./request.ts";
import type { Result } from "./result.ts";
import type { Runnable } from "./runnable.ts";
import { scopedLogger } from "./scoped-logger.ts";
import { SlowWork } from "./slow-work.ts";
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
  /**
   * On whom the work for an object waits, as another site that is asked: while one takes its time, others are not held up. So many objects as `concurrency` may wait on each
   * then, and others are worked on beside them. @default on nobody in particular
   */
  waitsOn?: (request: Request) => string | undefined;
  /** @default true */
  needsLeaderElection?: boolean;
  /**
   * How long one reconciliation may take: its signal aborts then, and the object is tried again once it returns. One that
   * ignores its signal cannot be stopped: it keeps its worker, which is logged. @default no bound
   */
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
      // Many controllers share a signal, and a signal looks at all its listeners whenever one comes or goes.
      const dropped = new AbortController();
      const stopListening = onAbort(abandon, () => dropped.abort(abandon.reason));
      try {
        await this.#workTogether(concurrency, stop, dropped.signal);
      } finally {
        stopListening();
      }
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

  async #workTogether(concurrency: number, stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    const { waitsOn, clock } = this.#options;
    const workers = new Set<Promise<void>>();
    const add = () => {
      const worker = this.#work(stop, abandon, slow).finally(() => workers.delete(worker));
      workers.add(worker);
    };
    const slow =
      waitsOn &&
      new SlowWork({
        waitsOn: (key) => waitsOn(parseRequest(key)),
        most: concurrency,
        clock,
        onSlow: add,
        release: (key) => this.#queue.add(key),
      });
    for (let i = 0; i < concurrency; i++) add();
    while (workers.size > 0) await Promise.all(workers);
  }

  async #work(stop: AbortSignal, abandon: AbortSignal, slow: SlowWork | undefined): Promise<void> {
    const { clock } = this.#options;
    let turned = clock.now();
    for (;;) {
      const key = await this.#queue.next(stop);
      if (key === undefined) return;
      const end = slow === undefined ? () => false : slow.begin(key);
      if (end !== undefined) await this.#reconcile(key, abandon);
      this.#queue.done(key);
      if (end?.()) return;
      if (clock.now() - turned < TURN_MS) continue;
      // Reconcilers without I/O would otherwise keep timers and sockets from having a turn for as long as keys are ready.
      await sleep(clock, 0, stop);
      turned = clock.now();
    }
  }

  async #reconcile(key: string, abandon: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const started = clock.now();
    const request = parseRequest(key);
    const deadline = this.#deadline(key, abandon);
    const context = new Context(deadline, () => scopedLogger(this.#log, { ...request }), this.#queue.failures(key));
    this.#metrics.reconcileStarted();
    const end = (outcome: Parameters<ControllerMetrics["reconcileEnded"]>[0]) =>
      this.#metrics.reconcileEnded(outcome, (clock.now() - started) / 1000);
    try {
      const given = await this.#options.reconcile(request, context);
      const result = checkedResult(given, this.name, key);
      this.#queue.forget(key);
      // At least by a timer: a key that is ready at once would never let go of the process.
      if (result.type === "again") this.#queue.addAfter(key, Math.max(1, result.afterMs));
      if (result.type === "terminal") context.log.error("reconciling failed for good", failure(result.error));
      end(result.type === "done" ? "success" : result.type === "again" ? "requeue_after" : "terminal");
    } catch (error) {
      if (abandon.aborted) {
        context.log.debug("reconciling was abandoned", { error: describeError(error) });
      } else {
        context.log.warn("reconciling failed", { ...failure(error), failures: this.#queue.failures(key) + 1 });
        this.#queue.addRateLimited(key);
      }
      end("error");
    } finally {
      deadline.cancel();
    }
  }

  /** Says so for as long as work goes on after its signal aborted: it keeps a worker, and nothing can take it away. */
  #watchOverrun(values: LogFields, everyMs: number): () => void {
    let overrunMs = 0;
    let cancel = () => {};
    const wait = () => {
      cancel = this.#options.clock.after(everyMs, () => {
        overrunMs += everyMs;
        this.#log.error("a reconciliation ignores its signal, and keeps a worker", { ...values, overrunMs });
        wait();
      });
    };
    wait();
    return () => cancel();
  }

  #deadline(key: string, abandon: AbortSignal): Deadline {
    const { clock, timeoutMs } = this.#options;
    const deadline = new Deadline(abandon);
    if (timeoutMs === undefined) return deadline;
    deadline.cancelTimer = clock.after(timeoutMs, () => {
      const values = { controller: this.name, object: key, seconds: timeoutMs / 1000 };
      deadline.abort(new ReconcileTimedOut(values));
      deadline.cancelTimer = this.#watchOverrun(values, timeoutMs);
    });
    return deadline;
  }
}

/** How long a worker goes on before it lets everything else in the process have a turn. */
const TURN_MS = 50;

/** What a reconciler returned, if it is a result: the compiler cannot see through every cast and every plain JavaScript. */
function checkedResult(given: Result | undefined, controller: string, object: string): Result {
  const isResult =
    given?.type === "done" ||
    given?.type === "terminal" ||
    (given?.type === "again" && typeof given.afterMs === "number" && !Number.isNaN(given.afterMs));
  if (isResult) return given;
  throw new InvalidResult({ controller, object, result: JSON.stringify(given) ?? typeof given });
}

/** Where an error comes from matters only when nobody foresaw it. */
function failure(error: unknown): LogFields {
  try {
    const unforeseen = error instanceof Error && !(error instanceof FjordError);
    return { error: describeError(error), ...(unforeseen && { stack: error.stack }) };
  } catch {
    // An error that cannot even be looked at: what can be said of it is in its description.
    return { error: describeError(error) };
  }
}
