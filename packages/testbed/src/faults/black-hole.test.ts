import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { failures, lastFailure, longestBlackHole } from "./black-hole.ts";

const at = (...times: (number | [number])[]) =>
  times.map((each) => (typeof each === "number" ? { at: each, ms: 1 } : { at: each[0] }));

describe("the longest black hole", () => {
  it("is none where everything is answered, though nothing was sent for long", () => {
    assert.equal(longestBlackHole(at(0, 20, 5_000, 5_020)).ms, 0);
    assert.equal(longestBlackHole([]).ms, 0);
  });

  it("is from the last answer before it to the first one after it", () => {
    assert.deepEqual(longestBlackHole(at(0, 20, [40], [60], 80, 100, [120], 140)), { ms: 60, from: 20 });
    assert.deepEqual(longestBlackHole(at([0], [20], 40)), { ms: 40, from: 0 });
    assert.deepEqual(longestBlackHole(at(0, 20, [40], [60])), { ms: 40, from: 20 });
  });
});

describe("the last failure", () => {
  it("is told from the fault on", () => {
    assert.equal(lastFailure(at([5], 100, [1_200], 1_300), 1_000), 200);
    assert.equal(lastFailure(at([5], 1_200), 1_000), 0);
  });
});

describe("What failed", () => {
  it("is told with when, and with whose port it had", () => {
    const all = [
      { at: 1_000, by: "TIMEOUT", port: 4_000 },
      { at: 1_100, ms: 5, by: "web" },
      { at: 1_200, by: "ECONNREFUSED", port: 4_002 },
      { at: 45_000, by: "TIMEOUT", port: 4_000 },
      { at: 46_000 },
      { at: 47_000 },
    ];
    const words = ["TIMEOUT at 0.5 s", "ECONNREFUSED at 0.7 s", "TIMEOUT at 44.5 s from the port of 0.5 s"];
    assert.deepEqual(failures(all, 500), [...words, "no answer at 45.5 s", "no answer at 46.5 s"]);
  });
});
