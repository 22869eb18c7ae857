import assert from "node:assert/strict";
import { test } from "node:test";
import { failingExpressions, formatExpressions, trueExpressions } from "../crd/test-library.ts";
import { CostExceeded } from "./budget.ts";
import { newEnvironment } from "./environment.ts";
import { compileCel } from "./program.ts";

function run(expression: string, self: unknown = {}): unknown {
  return compileCel(newEnvironment().registerVariable("self", "dyn"), expression)({ self });
}

test("functions of Kubernetes give what they give there", () => {
  for (const expression of trueExpressions) assert.equal(run(expression), true, expression);
  for (const expression of failingExpressions) assert.throws(() => run(expression), Error, expression);
  for (const expression of formatExpressions) assert.equal(run(`format.${expression}.hasValue()`), true, expression);
});

test("a variable may have the name of a library", () => {
  assert.equal(
    run("[1, 2].all(sets, sets > 0) && [1].map(ip, ip + 1) == [2] && cel.bind(format, 1, format == 1)"),
    true,
  );
});

test("loops with two variables, and lists of numbers, end", () => {
  const numbers = Array.from({ length: 1000 }, (_, n) => BigInt(n));
  for (const expression of [
    "self.all(i, x, self.all(j, y, self.all(k, z, x == x)))",
    "self.transformList(i, x, self.transformList(j, y, y)).size() > 0",
    "self.transformMap(i, x, self.transformMap(j, y, self.sortBy(z, z))).size() > 0",
    "lists.range(1000000000000).size() > 0",
    "sets.contains(lists.range(5000), lists.range(5000))",
  ]) {
    assert.throws(() => run(expression, numbers), CostExceeded, expression);
  }
});
