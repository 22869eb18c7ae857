import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { describeSpread, isEven, spreadOf, total } from "./pod-spread.ts";

function pod(nodeName: string, ready: boolean, deletionTimestamp?: string): Pod {
  const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
  return { metadata: { name: "x", deletionTimestamp }, spec: { nodeName }, status: { conditions } } as unknown as Pod;
}

test("pods that are Ready and stay are counted by their sites", () => {
  const pods = [
    pod("a", true),
    pod("b", true),
    pod("a-node-1", true),
    pod("a", false),
    pod("c", true, "2030-01-01T00:00:00Z"),
  ];
  const spread = spreadOf(pods);
  assert.deepEqual(spread, { a: 2, b: 1 });
  assert.equal(total(spread), 3);
  assert.equal(describeSpread(spread), "2 at a, 1 at b");
  assert.equal(describeSpread({}), "none");
});

test("a spread is even where no site has two more than another, and none is elsewhere", () => {
  assert.equal(isEven({ a: 2, b: 2, c: 2 }, ["a", "b", "c"]), true);
  assert.equal(isEven({ a: 2, b: 1 }, ["a", "b"]), true);
  assert.equal(isEven({ a: 3, b: 1 }, ["a", "b"]), false);
  assert.equal(isEven({ a: 1, b: 1, c: 1 }, ["a", "b"]), false);
  assert.equal(isEven({ a: 2 }, ["a", "b"]), false);
});
