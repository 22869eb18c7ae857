import type { WorkQueue, WorkQueueObserver } from "@fjord/base";
import { Counter, Gauge, Histogram, type Registry } from "../metrics/index.ts";
import type { ControllerMetrics, MeasuredCache, Metrics, ReconcileOutcome } from "./controller-metrics.ts";

const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];
const RECONCILE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Metrics under the names of controller-runtime and client-go, so that dashboards made for those show Fjord too. */
export function prometheusMetrics(registry: Registry): Metrics {
  const registers = [registry];
  const queues = queueMetrics(registry);
  const reconciles = reconcileMetrics(registry);
  const master = new Gauge({
    name: "leader_election_master_status",
    help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master",
    labelNames: ["name"] as const,
    registers,
  });
  const events = new Counter({
    name: "event_recorder_events_total",
    help: "Total number of Kubernetes events by what became of them",
    labelNames: ["outcome"] as const,
    registers,
  });
  return {
    controller: (name) => {
      const { observer, watch } = queues(name);
      const { setWorkers, ...reconcile } = reconciles(name);
      const observe = (queue: WorkQueue, workers: number) => {
        setWorkers(workers);
        return watch(queue);
      };
      return { queue: observer, observe, ...reconcile };
    },
    cache: cacheMetrics(registry),
    leading: (name, leads) => master.set({ name }, leads ? 1 : 0),
    event: (outcome) => events.inc({ outcome }),
  };
}

function queueMetrics(registry: Registry) {
  const common = { labelNames: ["name", "controller"] as const, registers: [registry] };
  const watched = new Map<string, WorkQueue>();
  const gauge = (name: string, help: string, read: (queue: WorkQueue) => number) =>
    new Gauge({
      ...common,
      name,
      help,
      read(own) {
        for (const [controller, queue] of watched) own.set({ name: controller, controller }, read(queue));
      },
    });
  const counter = (name: string, help: string) => new Counter({ ...common, name, help });
  const times = (name: string, help: string) => new Histogram({ ...common, name, help, buckets: QUEUE_BUCKETS });

  gauge("workqueue_depth", "Current depth of workqueue", (queue) => queue.depth);
  gauge(
    "workqueue_unfinished_work_seconds",
    "How many seconds of work has been done that is in progress and hasn't been observed by work_duration",
    (queue) => queue.unfinished().total / 1000,
  );
  gauge(
    "workqueue_longest_running_processor_seconds",
    "How many seconds has the longest running processor for workqueue been running",
    (queue) => queue.unfinished().longest / 1000,
  );
  const adds = counter("workqueue_adds_total", "Total number of adds handled by workqueue");
  const retries = counter("workqueue_retries_total", "Total number of retries handled by workqueue");
  const waits = times(
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested",
  );
  const works = times("workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes");

  return (controller: string) => {
    const labels = { name: controller, controller };
    const [added, retried] = [adds.labels(labels), retries.labels(labels)];
    const [waited, worked] = [waits.labels(labels), works.labels(labels)];
    const observer: WorkQueueObserver = {
      added: () => added.inc(),
      taken: (ms) => waited.observe(ms / 1000),
      done: (ms) => worked.observe(ms / 1000),
      retried: () => retried.inc(),
    };
    const watch = (queue: WorkQueue) => {
      watched.set(controller, queue);
      return () => watched.delete(controller);
    };
    return { observer, watch };
  };
}

type Child = ReturnType<Counter["labels"]>;

function reconcileMetrics(registry: Registry) {
  const common = { labelNames: ["controller"] as const, registers: [registry] };
  const total = new Counter({
    name: "controller_runtime_reconcile_total",
    help: "Total number of reconciliations per controller",
    labelNames: ["controller", "result"] as const,
    registers: [registry],
  });
  const errors = new Counter({
    ...common,
    name: "controller_runtime_reconcile_errors_total",
    help: "Total number of reconciliation errors per controller",
  });
  const terminalErrors = new Counter({
    ...common,
    name: "controller_runtime_terminal_reconcile_errors_total",
    help: "Total number of terminal reconciliation errors per controller",
  });
  const times = new Histogram({
    ...common,
    name: "controller_runtime_reconcile_time_seconds",
    help: "Length of time per reconciliation per controller",
    buckets: RECONCILE_BUCKETS,
  });
  const maxWorkers = new Gauge({
    ...common,
    name: "controller_runtime_max_concurrent_reconciles",
    help: "Maximum number of concurrent reconciles per controller",
  });
  const activeWorkers = new Gauge({
    ...common,
    name: "controller_runtime_active_workers",
    help: "Number of currently used workers per controller",
  });

  return (controller: string): Omit<ControllerMetrics, "queue" | "observe"> & { setWorkers(count: number): void } => {
    // All of them from the start: a rate needs a zero to rise from.
    const [success, requeueAfter, failure] = (["success", "requeue_after", "error"] as const).map((result) =>
      total.labels({ controller, result }),
    ) as [Child, Child, Child];
    const outcomes = { success, requeue_after: requeueAfter, error: failure, terminal: failure };
    const [failed, failedForGood] = [errors.labels({ controller }), terminalErrors.labels({ controller })];
    const [active, took] = [activeWorkers.labels({ controller }), times.labels({ controller })];
    return {
      setWorkers: (count) => maxWorkers.set({ controller }, count),
      reconcileStarted: () => active.inc(),
      reconcileEnded(outcome: ReconcileOutcome, seconds) {
        active.inc(-1);
        took.observe(seconds);
        outcomes[outcome].inc();
        if (outcome === "error" || outcome === "terminal") failed.inc();
        if (outcome === "terminal") failedForGood.inc();
      },
    };
  };
}

function cacheMetrics(registry: Registry): Metrics["cache"] {
  const caches = new Set<MeasuredCache>();
  const gauge = (name: string, help: string, read: (cache: MeasuredCache) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ["kind"] as const,
      registers: [registry],
      read(own) {
        for (const cache of caches) own.inc({ kind: cache.kind.kind }, read(cache));
      },
    });
  gauge("cache_objects", "Number of objects held by caches of a kind", (cache) => cache.size);
  gauge("cache_unsynced", "Number of caches of a kind without a complete list", ({ health }) =>
    health.synced ? 0 : 1,
  );
  gauge("cache_failures", "Failures in a row to list or watch a kind", ({ health }) => health.failures);
  return (cache) => caches.add(cache);
}
