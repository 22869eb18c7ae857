import type { WorkQueue } from "@fjord/base";
import type { Registry } from "prom-client";
import type { ControllerMetrics, Metrics, ReconcileOutcome } from "./controller-metrics.ts";

/** From 10 ns to 10 s, as Kubernetes' own work queues report. */
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];
const RECONCILE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const RESULTS = ["success", "requeue_after", "requeue", "error"] as const;

/**
 * Metrics under the names of controller-runtime and client-go, so that dashboards made for those show Fjord too. The
 * library behind it is loaded here and not before: it takes 50 ms and 20 MB.
 */
export async function prometheusMetrics(registry: Registry): Promise<Metrics> {
  const { Counter, Gauge, Histogram } = await import("prom-client");
  const registers = [registry];
  const watched = new Map<string, WorkQueue>();
  const queueLabels = ["name", "controller"] as const;

  const queueCounter = (name: string, help: string) => new Counter({ name, help, labelNames: queueLabels, registers });
  const queueTimes = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: queueLabels, buckets: QUEUE_BUCKETS, registers });
  const queueGauge = (name: string, help: string, read: (queue: WorkQueue) => number) =>
    new Gauge({
      name,
      help,
      labelNames: queueLabels,
      registers,
      collect() {
        this.reset();
        for (const [controller, queue] of watched) this.set({ name: controller, controller }, read(queue));
      },
    });

  queueGauge("workqueue_depth", "Current depth of workqueue", (queue) => queue.depth);
  queueGauge(
    "workqueue_unfinished_work_seconds",
    "How many seconds of work has been done that is in progress and hasn't been observed by work_duration",
    (queue) => queue.unfinished().total / 1000,
  );
  queueGauge(
    "workqueue_longest_running_processor_seconds",
    "How many seconds has the longest running processor for workqueue been running",
    (queue) => queue.unfinished().longest / 1000,
  );
  const adds = queueCounter("workqueue_adds_total", "Total number of adds handled by workqueue");
  const retries = queueCounter("workqueue_retries_total", "Total number of retries handled by workqueue");
  const waits = queueTimes(
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested",
  );
  const works = queueTimes(
    "workqueue_work_duration_seconds",
    "How long in seconds processing an item from workqueue takes",
  );

  const labelNames = ["controller"] as const;
  const reconciles = new Counter({
    name: "controller_runtime_reconcile_total",
    help: "Total number of reconciliations per controller",
    labelNames: ["controller", "result"] as const,
    registers,
  });
  const errors = new Counter({
    name: "controller_runtime_reconcile_errors_total",
    help: "Total number of reconciliation errors per controller",
    labelNames,
    registers,
  });
  const terminalErrors = new Counter({
    name: "controller_runtime_terminal_reconcile_errors_total",
    help: "Total number of terminal reconciliation errors per controller",
    labelNames,
    registers,
  });
  const reconcileTimes = new Histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "Length of time per reconciliation per controller",
    labelNames,
    buckets: RECONCILE_BUCKETS,
    registers,
  });
  const maxWorkers = new Gauge({
    name: "controller_runtime_max_concurrent_reconciles",
    help: "Maximum number of concurrent reconciles per controller",
    labelNames,
    registers,
  });
  const activeWorkers = new Gauge({
    name: "controller_runtime_active_workers",
    help: "Number of currently used workers per controller",
    labelNames,
    registers,
  });
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

  function controllerMetrics(controller: string): ControllerMetrics {
    const queue = { name: controller, controller };
    const queueAdds = adds.labels(queue);
    const queueWaits = waits.labels(queue);
    const queueWorks = works.labels(queue);
    const queueRetries = retries.labels(queue);
    for (const result of RESULTS) reconciles.labels({ controller, result }).inc(0);
    for (const counter of [queueAdds, queueRetries, errors.labels({ controller })]) counter.inc(0);
    return {
      queue: {
        added: () => queueAdds.inc(),
        taken: (waited) => queueWaits.observe(waited / 1000),
        done: (worked) => queueWorks.observe(worked / 1000),
        retried: () => queueRetries.inc(),
      },
      observe(workQueue, workers) {
        watched.set(controller, workQueue);
        maxWorkers.set({ controller }, workers);
        return () => watched.delete(controller);
      },
      reconcileStarted: () => activeWorkers.inc({ controller }),
      reconcileEnded(outcome: ReconcileOutcome, seconds) {
        activeWorkers.dec({ controller });
        reconcileTimes.observe({ controller }, seconds);
        const failed = outcome === "error" || outcome === "terminal";
        reconciles.inc({ controller, result: failed ? "error" : outcome });
        if (failed) errors.inc({ controller });
        if (outcome === "terminal") terminalErrors.inc({ controller });
      },
    };
  }

  return {
    controller: controllerMetrics,
    leading: (name, leads) => master.set({ name }, leads ? 1 : 0),
    event: (outcome) => events.inc({ outcome }),
  };
}
