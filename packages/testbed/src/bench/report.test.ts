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

test("more bounds that are missed than one reads are counted, and marked in the table", () => {
  const records = ["a", "b", "c", "d"].map((name) => ({ ...record, name }));
  const page = renderReport([{ name: "kube", records: [...records, { ...record, name: "e", holds: true }] }]);
  assert.match(page, /Of 5 bounds 4 are missed, marked \*\*no\*\*\./);
  assert.doesNotMatch(page, /Missed: /);
});

test("what is to be said of several figures is said once", () => {
  const settings = "All on one machine.";
  const page = renderReport([
    {
      name: "kube",
      records: [
        { ...record, settings },
        { ...record, name: "watch", settings },
        { ...record, name: "own", notShown: "another" },
      ],
    },
  ]);
  assert.equal(page.split(settings).length, 2);
  assert.match(page, /- \*\*list of 5,000 pods\*\*, \*\*watch\*\*: a slow network\n- \*\*own\*\*: another/);
});

test("parts of figures stand beside each other in a table", () => {
  const parts = (column: string, values: Record<string, number>) => ({ table: "Seconds", column, values });
  const page = renderReport([
    {
      name: "kube",
      records: [
        { ...record, parts: parts("few", { server: 1.5, agent: 0.2 }) },
        { ...record, parts: parts("many", { server: 20, store: 3 }) },
      ],
    },
  ]);
  assert.match(page, /\n\nSeconds:\n\n\| +\| few \| many \|\n/);
  assert.match(page, /\| server \| 1\.5 \| 20 +\|\n\| agent +\| 0\.2 \| +\|\n\| store +\| +\| 3 +\|/);
});

test("what others took stands beside ours, as a ratio where we have one", () => {
  const others = (figures: Record<string, string>) => ({ note: "Elsewhere", figures });
  const page = renderReport([
    {
      name: "kube",
      records: [
        { ...record, others: others({ Another: "2.5" }) },
        { ...record, name: "start", ratio: null, others: others({ Third: "5 s" }) },
      ],
    },
  ]);
  assert.match(page, /\n\nElsewhere:\n\n\| figure +\| Fjord +\| Another \| Third \|\n/);
  assert.match(page, /\| list of 5,000 pods \| 0\.6667 \| 2\.5 +\| +\|\n\| start +\| 100 ms +\| +\| 5 s +\|/);
});

test("the columns of the table line up", () => {
  const widths = renderTable([record, { ...record, name: "x", holds: null }])
    .split("\n")
    .map((line) => line.length);
  assert.equal(new Set(widths).size, 1);
});
