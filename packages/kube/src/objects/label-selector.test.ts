import assert from "node:assert/strict";
import { test } from "node:test";
import { type LabelSelector, matchesSelector } from "./label-selector.ts";

const rows: [string, LabelSelector, Record<string, string>, boolean][] = [
  ["nothing asked, nothing there", {}, {}, true],
  ["nothing asked", {}, { a: "b" }, true],
  ["a label that is there", { matchLabels: { a: "b" } }, { a: "b", c: "d" }, true],
  ["a label of another value", { matchLabels: { a: "b" } }, { a: "c" }, false],
  ["a label that is missing", { matchLabels: { a: "b" } }, {}, false],
  ["a name that every object has", { matchLabels: { constructor: "x" } }, {}, false],
  ["one of", { matchExpressions: [{ key: "a", operator: "In", values: ["x", "y"] }] }, { a: "y" }, true],
  ["one of, missing", { matchExpressions: [{ key: "a", operator: "In", values: ["x"] }] }, {}, false],
  ["none of, missing", { matchExpressions: [{ key: "a", operator: "NotIn", values: ["x"] }] }, {}, true],
  ["none of, there", { matchExpressions: [{ key: "a", operator: "NotIn", values: ["x"] }] }, { a: "x" }, false],
  ["there", { matchExpressions: [{ key: "a", operator: "Exists" }] }, { a: "" }, true],
  ["not there", { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] }, { a: "" }, false],
];

for (const [name, selector, labels, expected] of rows) {
  test(`selects: ${name}`, () => assert.equal(matchesSelector(selector, labels), expected));
}

test("all that is asked must hold", () => {
  const selector: LabelSelector = { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] };
  assert.equal(matchesSelector(selector, { a: "b" }), false);
  assert.equal(matchesSelector(selector, { a: "b", c: "" }), true);
});
