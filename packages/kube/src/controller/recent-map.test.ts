import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentMap } from "./recent-map.ts";

test("forgets what has gone unused for longest", () => {
  const map = new RecentMap<number>(2);
  let made = 0;
  const get = (key: string) => map.getOrMake(key, () => ++made);
  assert.deepEqual([get("a"), get("b"), get("a"), get("c"), get("a"), get("b")], [1, 2, 1, 3, 1, 4]);
});
