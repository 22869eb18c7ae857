import assert from "node:assert/strict";
import { it } from "node:test";
import { returned } from "./ready-endpoints.ts";

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
