import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { copyOf } from "./copy.ts";

test("a copy says the same and shares nothing", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const copy = copyOf(JSON.parse(text));
      assert.equal(JSON.stringify(copy), text);
    }),
  );
  const inner = Object.freeze({ a: 1 });
  const copy = copyOf({ inner, list: [inner] });
  assert.notEqual(copy.inner, inner);
  assert.notEqual(copy.list[0], inner);
  assert.deepEqual(Object.keys(copyOf(JSON.parse('{"__proto__":1}'))), ["__proto__"]);
});
