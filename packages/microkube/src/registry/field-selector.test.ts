import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFieldSelector } from "./field-selector.ts";

test("terms are equal or not, with escapes", () => {
  assert.deepEqual(parseFieldSelector("metadata.name=a,spec.nodeName!=b,x==c"), [
    { field: "metadata.name", value: "a", negated: false },
    { field: "spec.nodeName", value: "b", negated: true },
    { field: "x", value: "c", negated: false },
  ]);
  assert.deepEqual(parseFieldSelector(String.raw`a=b\,c\=d\\`), [
    { field: "a", value: String.raw`b,c=d\ `.trim(), negated: false },
  ]);
  assert.deepEqual(parseFieldSelector(""), []);
});

test("what is no term is refused", () => {
  assert.throws(() => parseFieldSelector("a"), /invalid selector: 'a'; can't understand 'a'/);
  assert.throws(() => parseFieldSelector("a=b=c"), /can't understand/);
  assert.throws(() => parseFieldSelector(String.raw`a=\x`), /invalid escape sequence/);
});
