import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition } from "@fjord/base";
import { getCondition, isConditionTrue, removeCondition, setCondition } from "./conditions.ts";

const noon = Date.UTC(2030, 0, 1, 12);
const ready = { type: "Ready", status: "True", reason: "AllGood", message: "", observedGeneration: 1 } as const;

test("a new condition is added with the time, others stay", () => {
  const other: Condition = { ...ready, type: "Other", lastTransitionTime: "2029-01-01T00:00:00Z" };
  const { conditions, changed } = setCondition([other], ready, noon);
  assert.equal(changed, true);
  assert.deepEqual(conditions, [other, { ...ready, lastTransitionTime: "2030-01-01T12:00:00Z" }]);
});

test("the transition time moves with the status alone", () => {
  const first = setCondition(undefined, ready, noon).conditions;
  const reworded = setCondition(first, { ...ready, message: "still good", observedGeneration: 2 }, noon + 60_000);
  assert.equal(reworded.changed, true);
  assert.equal(getCondition(reworded.conditions, "Ready")?.lastTransitionTime, "2030-01-01T12:00:00Z");
  const broken = setCondition(reworded.conditions, { ...ready, status: "False", reason: "Broken" }, noon + 120_000);
  assert.equal(getCondition(broken.conditions, "Ready")?.lastTransitionTime, "2030-01-01T12:02:00Z");
});

test("no change gives the very same array, and never touches what it was given", () => {
  const before = Object.freeze(setCondition(undefined, ready, noon).conditions.map((each) => Object.freeze(each)));
  const again = setCondition(before, { ...ready }, noon + 5_000);
  assert.equal(again.changed, false);
  assert.equal(again.conditions, before);
  assert.equal(setCondition(before, { ...ready, reason: "Other" }, noon).changed, true);
});

test("a message is cut to what servers accept, at a whole character", () => {
  const { conditions } = setCondition(undefined, { ...ready, message: `${"x".repeat(32_766)}😀😀` }, noon);
  const message = conditions[0]?.message ?? "";
  assert.ok(message.length <= 32_768);
  assert.equal(message.isWellFormed(), true);
  assert.match(message, /x…$/);
});

test("a condition is true only of a generation that was seen", () => {
  const { conditions } = setCondition(undefined, ready, noon);
  assert.equal(isConditionTrue(conditions, "Ready"), true);
  assert.equal(isConditionTrue(conditions, "Ready", 1), true);
  assert.equal(isConditionTrue(conditions, "Ready", 2), false);
  assert.equal(isConditionTrue(conditions, "Missing"), false);
  assert.equal(isConditionTrue(undefined, "Ready"), false);
});

test("a condition can be taken away", () => {
  const { conditions } = setCondition(undefined, ready, noon);
  assert.deepEqual(removeCondition(conditions, "Ready"), { conditions: [], changed: true });
  assert.equal(removeCondition(conditions, "Missing").conditions, conditions);
});
