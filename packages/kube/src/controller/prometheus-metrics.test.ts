import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { ConfigMap } from "../kinds/core.ts";
import { Registry } from "../metrics/index.ts";
import { Controller } from "./controller.ts";
import { prometheusMetrics } from "./prometheus-metrics.ts";
import { done, terminal } from "./result.ts";
import { watches } from "./source.ts";
import { TestSource } from "./test-source.ts";

const named = (name: string): ConfigMap => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

test("a controller's life shows under the names that dashboards know", async () => {
  const registry = new Registry();
  const metrics = prometheusMetrics(registry);
  const clock = new ManualClock();
  const stop = new AbortController();
  const slow = Promise.withResolvers<void>();
  const controller = new Controller({
    name: "mirror",
    sources: [watches(new TestSource(["good", "bad", "worse", "slow", "queued"].map(named)))],
    reconcile: async ({ name }) => {
      if (name === "bad") throw new Error("try again");
      if (name === "worse") return terminal(new Error("never"));
      if (name === "slow") await slow.promise;
      return done();
    },
    clock,
    random: () => 0,
    logger: silentLogger,
    metrics,
    backoff: { initial: 60_000 },
  });
  const run = controller.run(stop.signal);
  await clock.advance(4_000);
  metrics.leading("agent", true);
  metrics.event("written");
  metrics.cache({ kind: { kind: "Pod" }, size: 7, health: { synced: false, failures: 3 } });
  const text = await registry.metrics();
  const expected = [
    'cache_objects{kind="Pod"} 7',
    'cache_unsynced{kind="Pod"} 1',
    'cache_failures{kind="Pod"} 3',
    'workqueue_depth{name="mirror",controller="mirror"} 1',
    'workqueue_adds_total{name="mirror",controller="mirror"} 5',
    'workqueue_retries_total{name="mirror",controller="mirror"} 1',
    'workqueue_queue_duration_seconds_count{name="mirror",controller="mirror"} 4',
    'workqueue_work_duration_seconds_count{name="mirror",controller="mirror"} 3',
    'workqueue_unfinished_work_seconds{name="mirror",controller="mirror"} 4',
    'workqueue_longest_running_processor_seconds{name="mirror",controller="mirror"} 4',
    'controller_runtime_reconcile_total{controller="mirror",result="success"} 1',
    'controller_runtime_reconcile_total{controller="mirror",result="error"} 2',
    'controller_runtime_reconcile_total{controller="mirror",result="requeue_after"} 0',
    'controller_runtime_reconcile_errors_total{controller="mirror"} 2',
    'controller_runtime_terminal_reconcile_errors_total{controller="mirror"} 1',
    'controller_runtime_reconcile_time_seconds_count{controller="mirror"} 3',
    'controller_runtime_max_concurrent_reconciles{controller="mirror"} 1',
    'controller_runtime_active_workers{controller="mirror"} 1',
    'leader_election_master_status{name="agent"} 1',
    'event_recorder_events_total{outcome="written"} 1',
  ];
  for (const line of expected) assert.ok(text.split("\n").includes(line), `${line} is not in:\n${text}`);
  slow.resolve();
  stop.abort();
  await run;
  assert.doesNotMatch(await registry.metrics(), /workqueue_depth\{/, "a controller that is gone has no depth");
});
