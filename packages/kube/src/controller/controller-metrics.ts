import type { WorkQueue, WorkQueueObserver } from "@fjord/base";

export type ReconcileOutcome = "success" | "requeue_after" | "error" | "terminal";

/** What a controller reports. `prometheusMetrics` makes these; without one nothing is measured. */
export interface ControllerMetrics {
  readonly queue: WorkQueueObserver;
  /** Lets gauges look into the queue when they are read; the function returned ends that. */
  observe(queue: WorkQueue, workers: number): () => void;
  reconcileStarted(): void;
  reconcileEnded(outcome: ReconcileOutcome, seconds: number): void;
}

/** What of a cache is measured; every `Cache` fits. */
export interface MeasuredCache {
  readonly kind: { readonly kind: string };
  readonly size: number;
  readonly health: { readonly synced: boolean; readonly failures: number };
}

/** What everything under one manager reports to. */
export interface Metrics {
  controller(name: string): ControllerMetrics;
  /** Shows the cache's size and state from now on. */
  cache(cache: MeasuredCache): void;
  /** Called with each gain and loss of leadership. */
  leading(lease: string, leads: boolean): void;
  /** An event was written, or dropped because too many were waiting or the server refused it. */
  event(outcome: "written" | "dropped"): void;
}

export const noMetrics: Metrics = {
  controller: () => ({ queue: {}, observe: () => () => {}, reconcileStarted() {}, reconcileEnded() {} }),
  cache() {},
  leading() {},
  event() {},
};
