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
    limit.run("begin", call("b1")),
    limit.run("begin", call("b2")),
    limit.run("begin", call("b3")),
    limit.run("begin", call("b4")),
    limit.run("finish", call("f1")),
    limit.run("finish", call("f2")),
  ]);
  assert.deepEqual(order, ["b1", "b2", "f1", "f2", "b3", "b4"]);
});

test("a call that fails gives its place back", async () => {
  const limit = new CallLimit(1);
  await assert.rejects(
    limit.run("begin", () => Promise.reject(new Error("no"))),
    /no/,
  );
  assert.equal(await limit.run("begin", async () => 7), 7);
});
