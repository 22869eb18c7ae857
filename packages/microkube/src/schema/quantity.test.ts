import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalQuantity } from "./quantity.ts";

// As a real API server answered.
const answers = {
  "1000m": "1",
  "1024Mi": "1Gi",
  "0.5": "500m",
  "1.5Gi": "1536Mi",
  "1e3": "1e3",
  "1E": "1E",
  "100k": "100k",
  "12e-1": "1200e-3",
  "1500Ki": "1500Ki",
  "123456789012345678901": "123456789012345678901",
  "+5": "+5",
  " 1": "1",
  ".": "0",
  "5.": "5.",
  "1e30": "1e30",
  ".5": "500m",
  "1Ei": "1Ei",
  "0.1Ki": "102400m",
  "1000k": "1M",
  "1024k": "1024k",
  "1000Ki": "1000Ki",
  "0.5Gi": "512Mi",
  "1e6": "1e6",
  "1.5e3": "1500",
  "1E3": "1E3",
  "0": "0",
  "0Mi": "0",
  "00": "0",
  "1000000": "1M",
  "1000Mi": "1000Mi",
  "100000m": "100",
  "1e-3": "1e-3",
  "2e0": "2e0",
  "1.23k": "1230",
  "9223372036854775807": "9223372036854775807",
  "1e+5": "100e3",
  "1Pi": "1Pi",
  "20Ei": "9223372036854775807",
  "-5": "-5",
};

test("writes amounts as Kubernetes does", () => {
  for (const [sent, answered] of Object.entries(answers)) assert.equal(canonicalQuantity(sent), answered, sent);
});

test("what was written once stays", () => {
  for (const text of Object.values(answers)) assert.equal(canonicalQuantity(text), text);
});

test("refuses what is no quantity", () => {
  for (const text of ["", "abc", "1x", "1.5.5", "true", "{}", "Gi"]) {
    assert.throws(() => canonicalQuantity(text), /quantities must match the regular expression/, text);
  }
  assert.throws(() => canonicalQuantity("1e"), /unable to parse quantity's suffix/);
});
