import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { type PlainValue, yamlText } from "./yaml-text.ts";

test("it looks as people write it", () => {
  const value = { name: "a", url: "https://127.0.0.1:6443", on: "yes", list: [{ a: "b", c: true }, "d e"], none: {} };
  const text = `name: a
url: https://127.0.0.1:6443
"on": "yes"
list:
  - a: b
    c: true
  - "d e"
none: {}
`;
  assert.equal(yamlText(value), text);
});

test("it is read as what was written", () => {
  const { value } = fc.letrec<{ value: PlainValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("null", "1e3", "0x1", "~", "- a", "a: b", "#", "No")),
      fc.boolean(),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.string({ maxLength: 5 }), tie("value"), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  const root = fc.dictionary(fc.stringMatching(/^[a-z-]{1,5}$/), value, {
    minKeys: 1,
    maxKeys: 3,
    noNullPrototype: true,
  });
  fc.assert(fc.property(root, (one) => assert.deepEqual(parse(yamlText(one as never)), one)));
});
