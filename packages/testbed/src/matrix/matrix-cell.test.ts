import assert from "node:assert/strict";
import { test } from "node:test";
import { type Cell, matrixTable, withCells } from "./matrix-cell.ts";
import { matrixPage } from "./matrix-page.ts";

const cell = (change: Partial<Cell> = {}): Cell => ({
  ranges: "overlap",
  families: "ipv4",
  topology: "direct",
  traffic: "pod to pod",
  passed: true,
  answered: 2,
  refused: 3,
  ...change,
});

test("a later run takes the place of an earlier one, in the order of the matrix", () => {
  const before = [cell({ families: "dual" }), cell({ passed: false, reason: "late" })];
  assert.deepEqual(withCells(before, [cell(), cell({ topology: "hub" })]), [
    cell(),
    cell({ topology: "hub" }),
    cell({ families: "dual" }),
  ]);
});

test("each cell has its place in the table, and one that was not tried none", () => {
  const [head = [], ...rows] = matrixTable([cell(), cell({ topology: "hub", traffic: "headless", passed: false })]);
  assert.equal(head.length, 7);
  assert.deepEqual(rows, [
    ["overlap", "direct", "ok", "-", "-", "-", "-"],
    ["overlap", "hub", "-", "-", "FAILED", "-", "-"],
  ]);
});

test("the page counts what passed, and gives the reason of what did not", () => {
  const page = matrixPage([cell({ way: "directly" }), cell({ topology: "hub", passed: false, reason: "nobody came" })]);
  assert.match(page, /^1 of 2 cells passed, of 180\./m);
  assert.match(page, /^- overlap, ipv4, hub, pod to pod: nobody came$/m);
  assert.match(page, /^\| direct \| .* \| directly \| 1 \|$/m);
});
