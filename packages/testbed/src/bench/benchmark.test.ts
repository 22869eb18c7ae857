import assert from "node:assert/strict";
import { test } from "node:test";
import { BenchmarkSession } from "./benchmark.ts";

function session(lines: string[] = [], signal = new AbortController().signal): BenchmarkSession {
  const progress = (line: string) => lines.push(line);
  return new BenchmarkSession({ runs: 3, machine: "a machine", date: "2030-01-31", signal, progress });
}

test("subject and baseline are measured in turn, and the record holds medians and their ratio", async () => {
  const order: string[] = [];
  const subject = [1, 9, 2];
  const baseline = [4, 4, 40];
  const record = await session().measure({
    name: "list",
    unit: "ms",
    subject: async () => {
      order.push("subject");
      return subject.shift() ?? 0;
    },
    baseline: {
      name: "another",
      measure: async () => {
        order.push("baseline");
        return baseline.shift() ?? 0;
      },
    },
    expected: { of: "ratio", atMost: 0.5 },
    notShown: "the network",
  });
  assert.deepEqual(order, ["subject", "baseline", "subject", "baseline", "subject", "baseline"]);
  assert.deepEqual(record, {
    name: "list",
    value: 2,
    unit: "ms",
    baseline: 4,
    ratio: 0.5,
    expected: "ratio <= 0.5",
    holds: true,
    runs: 3,
    against: "another",
    notShown: "the network",
    machine: "a machine",
    date: "2030-01-31",
  });
});

test("of four runs and more the record says how far apart their own ratios are", async () => {
  const values = [1, 2, 3, 4, 50, 6, 7, 8];
  const signal = new AbortController().signal;
  const options = { runs: 8, machine: "a machine", date: "2030-01-31", signal, progress: () => {} };
  const measured = (runs: number) =>
    new BenchmarkSession({ ...options, runs }).measure({
      name: "list",
      unit: "ms",
      subject: async () => values.push(values[0] as number) && (values.shift() as number),
      baseline: { name: "another", measure: async () => 2 },
      notShown: "",
    });
  assert.deepEqual((await measured(8)).spread, { low: 1.5, high: 3.5 });
  assert.equal((await measured(3)).spread, undefined);
});

test("a missed bound is recorded as missed", async () => {
  const record = await session().measure({
    name: "memory",
    unit: "MB",
    subject: async () => 3,
    baseline: { name: "another", measure: async () => 4 },
    expected: { of: "ratio", atMost: 0.5 },
    notShown: "",
  });
  assert.equal(record.holds, false);
  assert.equal(record.ratio, 0.75);
});

test("each run is told as it happens, and an abort stops before the next", async () => {
  const lines: string[] = [];
  const controller = new AbortController();
  const measuring = session(lines, controller.signal).measure({
    name: "x",
    unit: "s",
    subject: async () => {
      controller.abort(new Error("stopped"));
      return 1;
    },
    notShown: "",
  });
  await assert.rejects(measuring, /stopped/);
  assert.deepEqual(lines, ["x: run 1 of 3: 1 s"]);
});
