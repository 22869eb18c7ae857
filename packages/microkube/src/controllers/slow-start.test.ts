import assert from "node:assert/strict";
import { test } from "node:test";
import { slowStart } from "./slow-start.ts";

test("each round is twice as large as the one before", async () => {
  const seen: number[] = [];
  let running = 0;
  let most = 0;
  const { succeeded, error } = await slowStart(11, async (index) => {
    seen.push(index);
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
  });
  assert.equal(succeeded, 11);
  assert.equal(error, undefined);
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(most, 4);
});

test("a failure ends it after its round", async () => {
  let asked = 0;
  const { succeeded, error } = await slowStart(100, async (index) => {
    asked++;
    if (index === 1) throw new Error("refused");
  });
  assert.equal(asked, 3);
  assert.equal(succeeded, 2);
  assert.match(String(error), /refused/);
  assert.deepEqual(await slowStart(0, async () => assert.fail("never")), { succeeded: 0 });
});
