import assert from "node:assert/strict";
import { test } from "node:test";
import { CallLimit } from "./call-limit.ts";

test("no more calls than allowed are under way, and what finishes something goes first", async () => {
  const limit = new CallLimit(2);
  const order: string[] = [];
  let underWay = 0;
  const call = (name: string) => async () => {
    order.push(name);
    assert.ok(++underWay <= 2);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
  };
  await Promise.all([
    limit.run(call("b1"), "begin"),
    limit.run(call("b2"), "begin"),
    limit.run(call("b3"), "begin"),
    limit.run(call("b4"), "begin"),
    limit.run(call("f1"), "finish"),
    limit.run(call("f2"), "finish"),
  ]);
  assert.deepEqual(order, ["b1", "b2", "f1", "f2", "b3", "b4"]);
});

test("a call that fails gives its place back", async () => {
  const limit = new CallLimit(1);
  await assert.rejects(
    limit.run(() => Promise.reject(new Error("no"))),
    /no/,
  );
  assert.equal(await limit.run(async () => 7), 7);
});
