import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Expression } from "./expression.ts";

test("expressions find what JavaScript's find, where both can be read", () => {
  const atom = fc.constantFrom(
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    "\\d",
    "\\w",
    "\\b",
    "^",
    "$",
    "(?:ab)",
    "é",
    "\\.",
    "[a-c-]",
  );
  const quantified = fc
    .tuple(atom, fc.constantFrom("", "", "*", "+", "?", "*?", "+?", "{2}", "{1,3}", "{2,}"))
    .filter(([one, many]) => many === "" || !["^", "$", "\\b"].includes(one))
    .map(([one, many]) => one + many);
  const pattern = fc
    .array(fc.array(quantified, { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((options) => options.map((one) => one.join("")).join("|"));
  const group = fc.oneof(
    pattern,
    fc.tuple(pattern, pattern).map(([a, b]) => `(${a})*${b}`),
    pattern.map((one) => `x(${one})+`),
  );
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "x", "1", ".", "é", " ", "\n"), maxLength: 12 });
  fc.assert(
    fc.property(group, text, (source, value) => {
      const own = new Expression(source);
      assert.equal(own.test(value), new RegExp(source, "u").test(value));
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(pattern, text, (source, value) => {
      assert.equal(new Expression(source).find(value), new RegExp(source, "u").exec(value)?.[0]);
    }),
    { numRuns: 500 },
  );
});

test("Go's own syntax is read", () => {
  const cases: [pattern: string, text: string, found: string | undefined][] = [
    ["(?P<year>\\d{4})-\\d\\d", "in 2024-05.", "2024-05"],
    ["(?i)straße", "STRASSE straSSe STRAßE", "STRAßE"],
    ["(?i:A)b", "ab", "ab"],
    ["[[:alpha:]]+", "12ab3", "ab"],
    ["[^[:space:]]+", " é1 ", "é1"],
    ["\\pL+", "1äб2", "äб"],
    ["\\p{Greek}", "aβ", "β"],
    ["\\Qa.b\\E+", "aXb a.bb", "a.bb"],
    ["\\Aab\\z", "ab", "ab"],
    ["(?s)a.b", "a\nb", "a\nb"],
    ["(?m)^b$", "a\nb\nc", "b"],
    ["(?U)a+", "aaa", "a"],
    ["[]a]+", "x]a", "]a"],
    ["[a\\-z]+", "b-z", "-z"],
    ["\\x{1F980}", "a🦀", "🦀"],
    ["^.$", "🦀", "🦀"],
    ["[\\d.]+", "a1.2", "1.2"],
    ["a{,2}", "a{,2}", "a{,2}"],
    ["\\D\\W\\S", "1a-b", "a-b"],
  ];
  for (const [pattern, text, found] of cases) assert.equal(new Expression(pattern).find(text), found, pattern);
  assert.deepEqual(new Expression("a*").findAll("baac"), ["", "aa", ""]);
  assert.deepEqual(new Expression("\\d").findAll("1a2b3", 2), ["1", "2"]);
});

test("what Go refuses is refused in its words", () => {
  const cases = {
    "a(b": "error parsing regexp: missing closing ): `a(b`",
    "a)b": "error parsing regexp: unexpected ): `a)b`",
    "[a": "error parsing regexp: missing closing ]: `[a`",
    "*a": "error parsing regexp: missing argument to repetition operator: `*`",
    "(?=a)": "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
    "\\1": "error parsing regexp: invalid escape sequence: `\\1`",
    "a{1001}": "error parsing regexp: invalid repeat count: `a{1001}`",
  };
  for (const [pattern, message] of Object.entries(cases)) assert.throws(() => new Expression(pattern), { message });
  assert.throws(() => new Expression(`${"(".repeat(1000)}a${")".repeat(1000)}`), /nests too deeply/);
  assert.throws(() => new Expression("((a{900}){900}){900}"), /too large/);
});

test("no expression takes forever", () => {
  const began = performance.now();
  for (const pattern of ["(a+)+$", "(a|a)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*(.*)*(.*)*x", "(a?){500}a{500}"]) {
    new Expression(pattern).test("a".repeat(2_000));
  }
  assert.throws(() => new Expression("(a{500}){20}b").test("a".repeat(100_000)), /too long/);
  assert(performance.now() - began < 20_000);
});
