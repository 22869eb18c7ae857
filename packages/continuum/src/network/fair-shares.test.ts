import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fairShares } from "./fair-shares.ts";

describe("shares", () => {
  it("are what each wants where there is enough, and equal ones of what the modest leave", () => {
    const shares = (wanted: Record<string, number>, most: number) => [
      ...fairShares(new Map(Object.entries(wanted)), most),
    ];
    assert.deepEqual(shares({ a: 3, b: 4 }, 10), [
      ["a", 3],
      ["b", 4],
    ]);
    assert.deepEqual(shares({ a: 100, b: 2, c: 100 }, 10), [
      ["b", 2],
      ["a", 4],
      ["c", 4],
    ]);
    assert.deepEqual(shares({}, 10), []);
  });
});
