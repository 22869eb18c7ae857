import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { environmentFileValue } from "./environment-file.ts";

test("values are found by their key", () => {
  const text = [
    "# written by the init container",
    "",
    "  FIRST='one'",
    "URL='http://x/?a=b#c'  # where to go",
    "SEVERAL='line one",
    '  line "two"',
    "'",
    "BLANK= 'not seen'",
    "EMPTY=''",
    "LAST='\\n $(X)'",
  ].join("\n");
  const cases: [string, string | undefined][] = [
    ["FIRST", "one"],
    ["URL", "http://x/?a=b#c"],
    ["SEVERAL", 'line one\n  line "two"\n'],
    ["BLANK", undefined],
    ["EMPTY", undefined],
    ["LAST", "\\n $(X)"],
    ["NONE", undefined],
  ];
  for (const [key, value] of cases) assert.equal(environmentFileValue(text, key), value, key);
});

test("what is written otherwise is refused with its line", () => {
  const cases: [string, RegExp][] = [
    ["A='1'\nnothing", /line 2: missing '='/],
    ["A=1", /line 1: value must be enclosed/],
    ['A="1"', /line 1: value must be enclosed/],
    ["A ='1'", /line 1: whitespace before/],
    ["='1'", /line 1: empty variable name/],
    ["A='1' B='2'", /line 1: unexpected content/],
    ["\nA='1\n2", /line 2: unclosed/],
  ];
  for (const [text, message] of cases) assert.throws(() => environmentFileValue(text, "Z"), { message });
});

test("any value without quotes comes back as it was written", () => {
  const values = fc.string().filter((value) => !/['\r]/.test(value) && value !== "");
  fc.assert(
    fc.property(values, (value) => {
      assert.equal(environmentFileValue(`OTHER='x'\nKEY='${value}'\n`, "KEY"), value);
    }),
  );
});
