import assert from "node:assert/strict";
import { test } from "node:test";
import { clockAhead } from "./clock-ahead.ts";

const NOW = Date.parse("2030-01-01T12:00:00.300Z");
const dateOf = (ms: number) => new Date(ms).toUTCString();
const at = { asked: NOW - 20, answered: NOW + 20 };

test("a clock that is nearly right is right", () => {
  for (const off of [-1_400, -300, 0, 300, 1_400]) assert.equal(clockAhead(dateOf(NOW + off), at, 0), 0, `${off}`);
});

test("a clock that is off is known to about a second, and stays what it was while it wavers", () => {
  for (const off of [-300_000, -7_000, 7_000, 300_000]) {
    const ahead = clockAhead(dateOf(NOW + off), at, 0);
    assert.ok(Math.abs(ahead - off) <= 1_000, `${off}: ${ahead}`);
    assert.equal(clockAhead(dateOf(NOW + off + 900), at, ahead), ahead);
    assert.equal(clockAhead(dateOf(NOW), at, ahead), 0, "it was set right");
  }
});

test("an answer that took long, or says no time, says nothing new", () => {
  assert.equal(clockAhead(dateOf(NOW + 9_000), { asked: NOW - 20_000, answered: NOW + 20_000 }, 0), 0);
  for (const date of ["", "yesterday", dateOf(0)]) assert.equal(clockAhead(date, at, 5_000), 5_000);
});
