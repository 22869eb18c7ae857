import assert from "node:assert/strict";
import { test } from "node:test";
import { resourceMetrics } from "./resource-metrics.ts";

const time = "2030-01-01T00:00:01.500Z";
const cpu = { time, usageCoreNanoSeconds: 1_500_000_000 };
const memory = { time, workingSetBytes: 1024 };

test("usage is told in Prometheus' text format, with the time of each measurement", () => {
  const text = resourceMetrics({
    node: { nodeName: "n", startTime: time, cpu, memory },
    pods: [
      {
        podRef: { name: 'a"b\\c', namespace: "ns", uid: "u" },
        startTime: time,
        containers: [
          { name: "main", startTime: time, cpu, memory },
          { name: "starting", startTime: "" },
        ],
        cpu,
      },
    ],
  });
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.deepEqual(lines, [
    'container_cpu_usage_seconds_total{container="main",namespace="ns",pod="a\\"b\\\\c"} 1.5 1893456001500',
    'container_memory_working_set_bytes{container="main",namespace="ns",pod="a\\"b\\\\c"} 1024 1893456001500',
    'container_start_time_seconds{container="main",namespace="ns",pod="a\\"b\\\\c"} 1893456001.5',
    "node_cpu_usage_seconds_total 1.5 1893456001500",
    "node_memory_working_set_bytes 1024 1893456001500",
    'pod_cpu_usage_seconds_total{namespace="ns",pod="a\\"b\\\\c"} 1.5 1893456001500',
    "resource_scrape_error 0",
    "scrape_error 0",
  ]);
});
