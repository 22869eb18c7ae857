import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatRate, parseCount, parseDuration, parseRate } from "./quantities.ts";

test("durations and rates are read with their units", () => {
  assert.equal(parseDuration("50ms"), 50);
  assert.equal(parseDuration("1.5s"), 1500);
  assert.equal(parseDuration("0"), 0);
  assert.equal(parseRate("10Mbit"), 1_250_000);
  assert.equal(parseRate("500kB"), 500_000);
  assert.equal(parseRate("unlimited"), Number.POSITIVE_INFINITY);
  assert.equal(formatRate(parseRate("10Mbit")), "10 Mbit/s");
  assert.equal(formatRate(Number.POSITIVE_INFINITY), "unlimited");
});

test("what is no quantity is refused with an example", () => {
  assert.throws(() => parseDuration("soon"), /such as 50ms/);
  assert.throws(() => parseDuration("-5ms"), /such as 50ms/);
  assert.throws(() => parseRate("10 furlongs"), /such as 10Mbit/);
  assert.throws(() => parseRate("0"), /at least one byte/);
  assert.throws(() => parseCount(1)("0"), /from 1 up/);
  assert.throws(() => parseCount(1)("2.5"), /from 1 up/);
  assert.throws(() => parseCount(0, 99)("100"), /from 0 to 99/);
});

test("a number without a unit is refused with the units there are", () => {
  assert.throws(() => parseDuration("100"), /no unit: .* the units are ms, s\./);
  assert.throws(() => parseRate("10"), /no unit: .* the units are B, kB, MB, GB, bit, kbit, Mbit, Gbit\./);
});

test("bytes are told in the unit of their size", () => {
  const told = [0, 999, 1000, 36_191, 510e6, 1.25e9].map(formatBytes);
  assert.deepEqual(told, ["0 B", "999 B", "1 kB", "36.2 kB", "510 MB", "1.3 GB"]);
});
