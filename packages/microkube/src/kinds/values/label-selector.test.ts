import assert from "node:assert/strict";
import { test } from "node:test";
import { type LabelSelector, selectorText, selects } from "./label-selector.ts";

test("a selector selects what it asks for", () => {
  const labels = { app: "web", tier: "a" };
  const cases: [LabelSelector | undefined, boolean][] = [
    [undefined, false],
    [{}, true],
    [{ matchLabels: { app: "web" } }, true],
    [{ matchLabels: { app: "web", x: "y" } }, false],
    [{ matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }] }, true],
    [{ matchExpressions: [{ key: "tier", operator: "NotIn", values: ["a"] }] }, false],
    [{ matchExpressions: [{ key: "none", operator: "NotIn", values: ["a"] }] }, true],
    [{ matchExpressions: [{ key: "app", operator: "Exists" }] }, true],
    [{ matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  ];
  for (const [selector, wanted] of cases) assert.equal(selects(selector, labels), wanted, JSON.stringify(selector));
});

test("a selector is written in the order of its keys", () => {
  const selector = {
    matchLabels: { b: "1", a: "2" },
    matchExpressions: [
      { key: "c", operator: "In", values: ["y", "x"] },
      { key: "ab", operator: "Exists" },
      { key: "d", operator: "DoesNotExist" },
    ],
  };
  assert.equal(selectorText(selector), "a=2,ab,b=1,c in (x,y),!d");
  assert.equal(selectorText(undefined), "");
});
