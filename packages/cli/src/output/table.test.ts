import assert from "node:assert/strict";
import { test } from "node:test";
import { age, cell, table } from "./table.ts";

test("columns are as wide as their widest cell, and lines end without spaces", () => {
  assert.equal(
    table(
      ["NAME", "READY"],
      [
        ["lively-wave", "True"],
        ["b", ""],
      ],
    ),
    "NAME          READY\nlively-wave   True\nb\n",
  );
});

test("nothing is said to be nothing", () => {
  assert.deepEqual([undefined, "", 0, "x"].map(cell), ["<none>", "<none>", "0", "x"]);
});

test("ages are told as kubectl tells them", () => {
  const now = Date.parse("2030-01-02T00:00:00Z");
  const at = (seconds: number) => age(new Date(now - seconds * 1000).toISOString(), now);
  assert.deepEqual([0, 119, 120, 125, 700, 4 * 3600, 50 * 3600].map(at), [
    "0s",
    "119s",
    "2m",
    "2m5s",
    "11m",
    "4h",
    "2d",
  ]);
});
