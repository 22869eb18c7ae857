import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, Pace, type Steps } from "./pace.ts";

/** Works for so long at each step. */
function* work(steps: number, ms: number, log: string[], name: string): Steps<string> {
  for (let step = 0; step < steps; step++) {
    for (const end = performance.now() + ms; performance.now() < end; );
    log.push(`${name}${step}`);
    yield;
  }
  return name;
}

test("steps may be taken at once", () => {
  assert.equal(finish(work(3, 0, [], "a")), "a");
});

test("small work is not interrupted", async () => {
  const log: string[] = [];
  const pace = new Pace();
  await pace.begin(10);
  setImmediate(() => log.push("other"));
  await pace.through(work(3, 15, log, "a"));
  assert.deepEqual(log, ["a0", "a1", "a2"]);
});

test("large work lets others go on, and each other", async () => {
  const log: string[] = [];
  const paces = [new Pace(), new Pace()];
  await Promise.all(paces.map((pace) => pace.begin(1_000_000)));
  setImmediate(() => log.push("other"));
  const names = ["a", "b"];
  const done = await Promise.all(paces.map((pace, at) => pace.through(work(3, 30, log, names[at] as string))));
  assert.deepEqual(done, ["a", "b"]);
  assert.ok(log.indexOf("other") < 3, log.join());
  assert.ok(log.indexOf("b0") < log.indexOf("a2"), log.join());
});
