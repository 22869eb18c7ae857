import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, safeText, templateHash } from "./template-hash.ts";

test("equal templates have equal hashes, whatever the order of their fields", () => {
  const hash = templateHash({ a: 1, b: { c: [1, 2], d: "x" } });
  assert.equal(templateHash({ b: { d: "x", c: [1, 2] }, a: 1, e: undefined }), hash);
  assert.notEqual(templateHash({ a: 1, b: { c: [2, 1], d: "x" } }), hash);
  assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
});

test("a collision gives another hash", () => {
  const hashes = [undefined, 0, 1, 2].map((collisions) => templateHash({ a: 1 }, collisions));
  assert.equal(new Set(hashes).size, 4);
});

test("texts are made safe as Kubernetes does it", () => {
  assert.equal(safeText("0123456789"), "456789bcdf");
  assert.equal(canonical({ b: null, a: [true, "ä"] }), '{"a":[true,"ä"],"b":null}');
});
