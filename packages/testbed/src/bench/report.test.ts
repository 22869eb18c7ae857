import assert from "node:assert/strict";
import { test } from "node:test";
import type { BenchmarkRecord } from "./record.ts";
import { renderReport, renderTable } from "./report.ts";

const record: BenchmarkRecord = {
  name: "list of 5,000 pods",
  value: 100,
  unit: "ms",
  baseline: 150,
  ratio: 0.6667,
  expected: "ratio <= 0.5",
  holds: false,
  runs: 5,
  against: "another client",
  notShown: "a slow network",
  machine: "2 cores",
  date: "2030-01-31",
};

test("the page says where, when, what was missed and what is not shown", () => {
  const page = renderReport([{ name: "kube", records: [record] }]);
  assert.match(page, /Measured on: 2 cores, 2030-01-31\./);
  assert.match(page, /Missed: list of 5,000 pods \(ratio <= 0\.5, measured 0\.6667\)\./);
  assert.match(page, /- \*\*list of 5,000 pods\*\*: a slow network/);
});

test("the columns of the table line up", () => {
  const widths = renderTable([record, { ...record, name: "x", holds: null }])
    .split("\n")
    .map((line) => line.length);
  assert.equal(new Set(widths).size, 1);
});
