import assert from "node:assert/strict";
import { test } from "node:test";
import { labelPredicate } from "./label-text.ts";

test("selectors of one line are understood", () => {
  const meets = (text: string, labels: Record<string, string>) => labelPredicate(text)(labels);
  assert.equal(meets("app=web,tier in (a, b)", { app: "web", tier: "b" }), true);
  assert.equal(meets("app=web,tier in (a, b)", { app: "web", tier: "c" }), false);
  assert.equal(meets("app==web,!old,new", { app: "web", new: "" }), true);
  assert.equal(meets("tier notin (a),app!=db", { tier: "b", app: "web" }), true);
  assert.equal(meets("", { a: "b" }), false);
});
