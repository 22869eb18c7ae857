import assert from "node:assert/strict";
import { test } from "node:test";
import { isOfFormat } from "./text-format.ts";

test("a duration is numbers with units, and is told from others in no time", () => {
  for (const good of ["1s", "-1.5h", "2h 30m", "10µs", "3 weeks"]) assert.ok(isOfFormat(good, "duration"), good);
  for (const bad of ["", "s", "1", "1s1", "s1"]) assert.ok(!isOfFormat(bad, "duration"), bad);
  assert.ok(!isOfFormat(`${"1s".repeat(50_000)}!`, "duration"));
  assert.ok(!isOfFormat(`${"1 ns ".repeat(50_000)}!`, "duration"));
});

test("formats that nobody knows are not asked about, whatever their names", () => {
  for (const format of ["constructor", "toString", "__proto__", "colour"]) assert.ok(isOfFormat("x", format), format);
});

test("a date is a day that there is", () => {
  for (const [format, rest] of [
    ["date", ""],
    ["date-time", "T23:59:59+01:00"],
  ] as const) {
    for (const good of ["2024-02-29", "2023-12-31"]) assert.ok(isOfFormat(`${good}${rest}`, format), good);
    for (const bad of ["2023-02-29", "2024-02-30", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00"])
      assert.ok(!isOfFormat(`${bad}${rest}`, format), bad);
  }
});
