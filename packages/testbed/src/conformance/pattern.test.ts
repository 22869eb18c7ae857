import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPattern } from "./pattern.ts";
import { suites } from "./suites.ts";

test("a pattern that the suite could not read is refused before anything is started", () => {
  for (const pattern of ["(", "a)", "[", "*a"]) {
    assert.throws(() => checkPattern(pattern), { code: "TESTBED_PATTERN_INVALID" }, pattern);
  }
});

test("what Go reads passes, also where we write it otherwise", () => {
  const patterns = [
    "Probing.*Conformance",
    "(?i)probing",
    "(?P<kind>emptyDir|configMap)",
    "\\[sig-node\\]",
    "[[:alpha:]]+",
  ];
  for (const pattern of [
    ...patterns,
    "\\Q(\\E",
    ...Object.values(suites).flatMap(({ focus, skip }) => [...focus, ...skip]),
  ]) {
    checkPattern(pattern);
  }
});
