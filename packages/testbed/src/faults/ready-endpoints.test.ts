import assert from "node:assert/strict";
import { it } from "node:test";
import { fewerAfterMs, returned } from "./ready-endpoints.ts";

it("Endpoints that had left are told when they are back too early, and no others", () => {
  const [one, other] = ["10.0.0.1", "240.0.0.1"];
  const seen = [
    { at: 0, ready: [one, other] },
    { at: 2_000, ready: [one] },
    { at: 45_000, ready: [one, other] },
    { at: 46_000, ready: [one] },
    { at: 50_000, ready: [one, "10.0.0.2"] },
    { at: 201_000, ready: [one, other] },
  ];
  assert.deepEqual(returned(seen, 500, 200_000), ["240.0.0.1 is back after 44.5 s"]);
  assert.deepEqual(returned(seen, 46_500, 200_000), []);
  assert.deepEqual(returned([], 0, 1), []);
});

it("Endpoints that leave are told by when they did, and nothing where nobody has looked before, or goes on looking", () => {
  const seen = [
    { at: 0, ready: ["10.0.0.1"] },
    { at: 1_000, ready: ["10.0.0.1", "240.0.0.1"] },
    { at: 5_000, ready: ["10.0.0.2", "240.0.0.1"] },
    { at: 6_500, ready: ["10.0.0.2"] },
  ];
  assert.equal(fewerAfterMs(seen, 4_000), 2_500);
  assert.equal(fewerAfterMs(seen, 6_500), undefined);
  assert.equal(fewerAfterMs(seen.slice(2), 4_000), undefined);
  assert.equal(fewerAfterMs(seen.slice(0, 2), 4_000), undefined);
});
