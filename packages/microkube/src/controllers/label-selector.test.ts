import assert from "node:assert/strict";
import { test } from "node:test";
import { includesLabels, isEmptySelector, selects } from "./label-selector.ts";

test("an empty selector is met by all, an absent one by none", () => {
  assert.equal(selects({ matchLabels: { app: "web" } }, { app: "web", tier: "front" }), true);
  assert.equal(selects({ matchExpressions: [{ key: "app", operator: "In", values: ["db"] }] }, { app: "web" }), false);
  assert.equal(selects({}, {}), true);
  assert.equal(selects(undefined, {}), false);
});

test("plain labels are met by a superset", () => {
  assert.equal(includesLabels({ a: "1", b: "2" }, { a: "1" }), true);
  assert.equal(includesLabels({ a: "1" }, { a: "1", b: "2" }), false);
  assert.equal(isEmptySelector({ matchLabels: {} }), true);
  assert.equal(isEmptySelector({ matchLabels: { a: "b" } }), false);
});
