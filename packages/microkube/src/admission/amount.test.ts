import assert from "node:assert/strict";
import { test } from "node:test";
import { added, amount, amounts, amountText, count, largest, quantityTexts, surplus } from "./amount.ts";

test("quantities are written as Kubernetes writes them", () => {
  const pairs = [
    ["1", "1"],
    ["1000m", "1"],
    ["1.5", "1500m"],
    ["1500m", "1500m"],
    ["0.1", "100m"],
    ["1000", "1k"],
    ["1500", "1500"],
    ["1024", "1024"],
    ["1024Ki", "1Mi"],
    ["1536Mi", "1536Mi"],
    ["2048Mi", "2Gi"],
    ["0.5Gi", "512Mi"],
    ["512", "512"],
    ["0Gi", "0"],
    ["100Ki", "100Ki"],
    ["0.5Ki", "512"],
    ["1e3", "1e3"],
    ["100e6", "100e6"],
    ["5e2", "500"],
    ["100n", "100n"],
    ["12345678901234567890", "12345678901234567890"],
  ] as const;
  for (const [text, expected] of pairs) assert.equal(amountText(amount(text)), expected, text);
  assert.equal(amountText(count(10)), "10");
});

test("sums keep the form of the first that is not nothing", () => {
  const sum = (a: string, b: string) => quantityTexts(added(amounts({ x: a }), amounts({ x: b }))).x;
  assert.equal(sum("1Gi", "1Gi"), "2Gi");
  assert.equal(sum("0", "1Gi"), "1Gi");
  assert.equal(sum("100m", "1"), "1100m");
  assert.equal(sum("1Gi", "1000"), "1073742824");
});

test("what is left over, and the larger of two", () => {
  assert.deepEqual(quantityTexts(surplus(amounts({ a: 3, b: 1 }), amounts({ a: 1, b: 2, c: 1 }))), { a: "2", b: "0" });
  assert.deepEqual(quantityTexts(largest(amounts({ a: 3, b: 1 }), amounts({ a: 1, b: 2, c: 1 }))), {
    a: "3",
    b: "2",
    c: "1",
  });
});
