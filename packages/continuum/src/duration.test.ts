import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { durationMs, parseDuration } from "./duration.ts";

describe("durations", () => {
  it("are read as Go writes them", () => {
    assert.equal(parseDuration("1h30m"), 5_400_000);
    assert.equal(parseDuration("1.5s"), 1_500);
    assert.equal(parseDuration("250ms"), 250);
    assert.equal(parseDuration("1m30s500ms"), 90_500);
    assert.equal(parseDuration("2us"), 0.002);
  });

  it("are told from what only looks like one", () => {
    for (const text of ["soon", "", "5", "s", "-5s", "5s ", "1h-2m", "5x", "1..5s", "9".repeat(80)])
      assert.equal(parseDuration(text), undefined, text);
    assert.throws(() => durationMs("soon"), /"soon" is no duration, such as 90s/);
  });

  it("add up", () => {
    const amount = fc.nat({ max: 9_999 });
    fc.assert(
      fc.property(amount, amount, amount, (h, m, s) => {
        assert.equal(durationMs(`${h}h${m}m${s}s`), h * 3_600_000 + m * 60_000 + s * 1_000);
      }),
    );
  });
});
