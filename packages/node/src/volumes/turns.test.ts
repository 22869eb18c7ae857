import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

test("work on one key is done one after the other, also after a failure", async () => {
  const turns = new Turns();
  const log: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const outcomes = await Promise.allSettled([
    turns.take("a", work("a1")),
    turns.take("a", work("a2", true)),
    turns.take("b", work("b1")),
    turns.take("a", work("a3")),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "fulfilled"],
  );
  const ofA = log.filter((line) => line.startsWith("a"));
  assert.deepEqual(ofA, ["a1 begins", "a1 ends", "a2 begins", "a2 ends", "a3 begins", "a3 ends"]);
  assert.ok(log.indexOf("b1 begins") < log.indexOf("a1 ends"));
});
