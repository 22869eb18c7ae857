import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJsonText } from "./json-text.ts";

test("reads whatever JSON.stringify writes", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      assert.deepEqual(parseJsonText(text).value, JSON.parse(text));
    }),
  );
});

test("tells the keys of objects that have one twice; the last one counts", () => {
  const { value, keys } = parseJsonText('{"a":1,"b":{"c":1},"a":2}');
  assert.deepEqual(value, { a: 2, b: { c: 1 } });
  assert.deepEqual([...keys.values()], [["a", "b", "a"]]);
});

test("a key named like a part of JavaScript is a key", () => {
  const { value } = parseJsonText('{"__proto__":{"x":1}}');
  assert.deepEqual(Object.keys(value as object), ["__proto__"]);
});

test("says what is wrong as Go does", () => {
  const wrong: Record<string, string> = {
    "": "unexpected end of JSON input",
    "{": "unexpected end of JSON input",
    x: "invalid character 'x' looking for beginning of value",
    '{"a":1} x': "invalid character 'x' after top-level value",
    '{"a":1,}': "invalid character '}' looking for beginning of object key string",
    "{'a':1}": "invalid character '\\'' looking for beginning of object key string",
    '{"a":"\\q"}': "invalid character 'q' in string escape code",
    '{"a":tru}': "invalid character '}' in literal true (expecting 'e')",
    '{"a":01}': "invalid character '1' after object key:value pair",
    '{"a":1 "b":2}': "invalid character '\"' after object key:value pair",
    '{"a":"\n"}': "invalid character '\\n' in string literal",
    "[1 2]": "invalid character '2' after array element",
    '{"a" 1}': "invalid character '1' after object key",
    "[-]": "invalid character ']' in numeric literal",
    "[1.]": "invalid character ']' after decimal point in numeric literal",
  };
  for (const [text, message] of Object.entries(wrong)) assert.throws(() => parseJsonText(text), { message });
});

test("never throws anything but a syntax error, and agrees with JSON.parse on what is JSON", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[{}[\]",:0-9a-z\\.eE+-]{0,20}$/), (text) => {
      let mine: unknown;
      let native: unknown;
      try {
        native = { value: JSON.parse(text) };
      } catch {
        native = undefined;
      }
      try {
        mine = { value: parseJsonText(text).value };
      } catch {
        mine = undefined;
      }
      assert.deepEqual(mine, native);
    }),
  );
});
