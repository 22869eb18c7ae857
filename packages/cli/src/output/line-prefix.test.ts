import assert from "node:assert/strict";
import { test } from "node:test";
import { LinePrefix } from "./line-prefix.ts";

test("every line is prefixed once, however it comes", () => {
  const lines = new LinePrefix("[a] ");
  const whole = Buffer.from("one\n\ntwø\nthree");
  const taken = [...whole].map((_, at) => lines.take(whole.subarray(at, at + 1))).join("");
  assert.equal(taken + lines.rest(), "[a] one\n[a] \n[a] twø\n[a] three\n");
});

test("without a prefix what came is what goes", () => {
  const lines = new LinePrefix("");
  assert.equal(lines.take(Buffer.from("one\ntw")) + lines.take(Buffer.from("o")) + lines.rest(), "one\ntwo");
});
