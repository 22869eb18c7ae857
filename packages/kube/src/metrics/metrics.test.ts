import assert from "node:assert/strict";
import { test } from "node:test";
import { Counter, Gauge, Histogram, Registry } from "./index.ts";

test("metrics are told in Prometheus' text format", async () => {
  const registry = new Registry();
  const registers = [registry];
  const refusals = new Counter({
    name: "refused_total",
    help: "Refusals, by\nreason",
    labelNames: ["reason", "code"],
    registers,
  });
  refusals.inc({ reason: 'a "bad"\nname \\', code: 400 }, 2);
  refusals.inc({ reason: "late" });
  refusals.labels({ reason: "late" }).inc();
  const open = new Gauge({ name: "open", help: "Open connections", registers });
  open.inc();
  open.inc({}, 4);
  open.dec();
  const seconds = new Histogram({
    name: "took_seconds",
    help: "Time",
    labelNames: ["verb"],
    buckets: [0.5, 2],
    registers,
  });
  for (const value of [0.5, 0.25, 1, 9]) seconds.observe({ verb: "get" }, value);
  assert.equal(
    await registry.metrics(),
    `# HELP refused_total Refusals, by\\nreason
# TYPE refused_total counter
refused_total{reason="a \\"bad\\"\\nname \\\\",code="400"} 2
refused_total{reason="late"} 2

# HELP open Open connections
# TYPE open gauge
open 4

# HELP took_seconds Time
# TYPE took_seconds histogram
took_seconds_bucket{le="0.5",verb="get"} 2
took_seconds_bucket{le="2",verb="get"} 3
took_seconds_bucket{le="+Inf",verb="get"} 4
took_seconds_sum{verb="get"} 10.75
took_seconds_count{verb="get"} 4
`,
  );
});

test("a gauge that is read shows what there is at that moment and nothing else", async () => {
  const registry = new Registry();
  const depths = new Map([["a", 1]]);
  new Gauge({
    name: "depth",
    help: "Depth",
    labelNames: ["queue"],
    registers: [registry],
    read: (gauge) => {
      for (const [queue, depth] of depths) gauge.set({ queue }, depth);
    },
  });
  assert.match(await registry.metrics(), /^depth\{queue="a"\} 1$/m);
  depths.delete("a");
  depths.set("b", Number.POSITIVE_INFINITY);
  assert.equal(await registry.metrics(), '# HELP depth Depth\n# TYPE depth gauge\ndepth{queue="b"} +Inf\n');
});

test("a name is taken once", () => {
  const registers = [new Registry()];
  new Counter({ name: "one", help: "", registers });
  assert.throws(() => new Gauge({ name: "one", help: "", registers }), /metric one already/);
});
