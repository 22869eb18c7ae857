import {
  Backoff,
  type Clock,
  describeError,
  type KubeObject,
  type Logger,
  onAbort,
  type Random,
  sleep,
} from "@fjord/base";
import { ApiError, isAlreadyExists, isNotFound, isTooManyRequests } from "../client/api-error.ts";
import type { Writer } from "../client/interfaces.ts";
import { CoreEvent } from "../kinds/core.ts";
import { type Metrics, noMetrics } from "./controller-metrics.ts";
import { EventCorrelator, type EventCorrelatorOptions, type EventNote, type EventSeries } from "./event-correlator.ts";
import {
  type EventSource,
  eventName,
  eventNamespace,
  eventObject,
  eventProgress,
  resumeSeries,
} from "./event-object.ts";
import { redact } from "./redact.ts";
import type { Runnable } from "./runnable.ts";

export interface EventRecorderOptions extends EventSource, Omit<EventCorrelatorOptions, "clock"> {
  client: Pick<Writer, "create" | "patch">;
  /** How many series may wait to be written; what comes on top is dropped, and counted. @default 1000 */
  buffer?: number;
  /** How often a write is tried while the server does not answer. @default 8 */
  attempts?: number;
  /** How long what waits may take to be written after a stop. @default 3_000 */
  flushMs?: number;
  clock: Clock;
  random: Random;
  logger: Logger;
  metrics?: Metrics;
}

/** What reconcilers need of a recorder. It returns at once and never throws. */
export interface EventSink {
  event(object: KubeObject, note: EventNote): void;
}

interface Waiting {
  readonly object: KubeObject;
  readonly series: EventSeries;
}

/** Tools cut longer ones, and the newer events API refuses them. */
const LONGEST_MESSAGE = 1024;

/**
 * Writes Kubernetes events in the background: equal ones become one with a count, also across restarts, floods are combined and
 * bounded.
 */
export class EventRecorder implements EventSink, Runnable {
  readonly name = "event recorder";
  readonly early = true;
  readonly #options: EventRecorderOptions;
  readonly #metrics: Metrics;
  readonly #correlator: EventCorrelator;
  /** By series: while one waits, repeats only raise its count. */
  readonly #waiting = new Map<string, Waiting>();
  #wake: () => void = () => {};

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? noMetrics;
    this.#correlator = new EventCorrelator(options);
  }

  event(object: KubeObject, note: EventNote): void {
    try {
      this.#queue(object, note);
    } catch (error) {
      this.#metrics.event("dropped");
      this.#options.logger.error("cannot record an event", { error: describeError(error) });
    }
  }

  #queue(object: KubeObject, note: EventNote): void {
    const message = redact(String(note.message)).slice(0, LONGEST_MESSAGE).toWellFormed();
    const about = identityOf(object);
    const series = this.#correlator.count(about, { ...note, message });
    if (this.#waiting.has(series.key)) return;
    if (this.#waiting.size < (this.#options.buffer ?? 1000) && this.#correlator.mayWrite(about)) {
      this.#waiting.set(series.key, { object, series });
      this.#wake();
    } else {
      this.#metrics.event("dropped");
    }
  }

  /** Writes until `stop` aborts, then what still waits, for a short time. */
  async run(stop: AbortSignal, abandon: AbortSignal = new AbortController().signal): Promise<void> {
    const { clock, flushMs = 3_000 } = this.#options;
    const over = new AbortController();
    let cancelFlush = () => {};
    const unwatch = [
      onAbort(abandon, () => over.abort()),
      onAbort(stop, () => {
        cancelFlush = clock.after(flushMs, () => over.abort());
        this.#wake();
      }),
    ];
    while (!over.signal.aborted) {
      const next = this.#take();
      if (next !== undefined) await this.#write(next, over.signal);
      else if (stop.aborted) break;
      else await new Promise<void>((resolve) => this.#waitForWork(resolve, over.signal));
    }
    cancelFlush();
    for (const release of unwatch) release();
    if (this.#waiting.size > 0) this.#options.logger.warn("events were not written", { events: this.#waiting.size });
  }

  #waitForWork(resolve: () => void, over: AbortSignal): void {
    const release = onAbort(over, () => this.#wake());
    this.#wake = () => {
      release();
      resolve();
    };
    if (over.aborted) resolve();
  }

  #take(): Waiting | undefined {
    const [first] = this.#waiting.values();
    if (first !== undefined) this.#waiting.delete(first.series.key);
    return first;
  }

  async #write(waiting: Waiting, over: AbortSignal): Promise<void> {
    const { clock, random, logger, attempts = 8 } = this.#options;
    const backoff = new Backoff({ initial: 500, max: 10_000, random });
    for (;;) {
      try {
        await this.#send(waiting, over);
        return this.#metrics.event("written");
      } catch (error) {
        if (isWorthRetrying(error) && backoff.failures < attempts - 1 && !over.aborted) {
          await sleep(clock, backoff.next(), over);
          continue;
        }
        this.#metrics.event("dropped");
        const { reason } = waiting.series.note;
        const object = `${waiting.object.kind} ${waiting.object.metadata.name}`;
        return logger.warn("cannot write an event", { reason, object, error: describeError(error) });
      }
    }
  }

  async #send({ object, series }: Waiting, signal: AbortSignal): Promise<void> {
    const { client, random } = this.#options;
    series.name ??= eventName(object, series, this.#options);
    const key = { name: series.name, namespace: eventNamespace(object) };
    if (series.written) {
      try {
        await client.patch(CoreEvent, key, "merge", eventProgress(series), { signal });
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error;
        // Servers forget events after a while: begin a new one.
        series.written = false;
      }
    }
    series.attempts++;
    try {
      await client.create(CoreEvent, eventObject(object, key.name, series, this.#options), { signal });
      series.written = true;
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    // Of a process before this one. Who may write events may not always read them: a patch is answered with the whole.
    const { message, lastTimestamp } = eventProgress(series);
    const there = await client.patch(CoreEvent, key, "merge", { message, lastTimestamp }, { signal });
    series.written = resumeSeries(series, there, object);
    if (!series.written) series.name = `${key.name}.${Math.floor(random() * 2 ** 48).toString(16)}`;
    await this.#send({ object, series }, signal);
  }
}

function identityOf({ apiVersion, kind, metadata }: KubeObject): string {
  return JSON.stringify([apiVersion, kind, metadata.namespace, metadata.name, metadata.uid]);
}

function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof ApiError) || error.statusCode >= 500 || isTooManyRequests(error);
}
