import assert from "node:assert/strict";
import { test } from "node:test";
import { budget, CostExceeded } from "./budget.ts";
import { newEnvironment } from "./environment.ts";
import { compileCel } from "./program.ts";

function run(expression: string, self: unknown = {}): unknown {
  return compileCel(newEnvironment().registerVariable("self", "dyn"), expression)({ self });
}

test("what is within its cost gives its value", () => {
  const numbers = Array.from({ length: 300 }, (_, n) => BigInt(n));
  assert.equal(run("self.all(x, self.exists(y, x == y))", numbers), true);
  assert.equal(run("self.map(x, x * 2).filter(x, x > 596).size() == 1", numbers), true);
  assert.equal(run("self.exists_one(x, x == 7)", numbers), true);
  assert.equal(run("'2024-05-06'.matches('^\\\\d{4}-\\\\d\\\\d')"), true);
  assert.equal(run("'abc'.matches('b') && !'abc'.matches('^b')"), true);
  assert.deepEqual(run("'a1b22'.findAll('[0-9]+')"), ["1", "22"]);
});

test("loops within loops end", () => {
  const numbers = Array.from({ length: 1000 }, (_, n) => BigInt(n));
  const began = performance.now();
  for (const expression of [
    "self.all(x, self.all(y, self.all(z, x == x)))",
    "self.map(x, self.map(y, self.map(z, z))).size() > 0",
    "self.exists(x, self.exists_one(y, self.filter(z, z < 0).size() > 1))",
  ]) {
    assert.throws(() => run(expression, numbers), CostExceeded, expression);
  }
  assert(performance.now() - began < 20_000);
});

test("texts and lists that are put together from themselves end", () => {
  const doubled = (first: string) => {
    let expression = "v40.size() > 0";
    for (let n = 40; n > 0; n--) expression = `cel.bind(v${n}, v${n - 1} + v${n - 1}, ${expression})`;
    return `cel.bind(v0, ${first}, ${expression})`;
  };
  for (const first of ["'aaaaaaaa'", "[1, 2, 3, 4]", "b'abcd'"]) {
    assert.throws(() => run(doubled(first)), CostExceeded, first);
  }
  assert.throws(
    () => run("self.format([self.format([self, self]), self])", `%s%s${"a".repeat(5_000_000)}`),
    CostExceeded,
  );
  assert.equal(run("('a' + self + 'c').size() + ([1] + [2, 3]).size()", "b"), 6n);
});

test("the different ones of a long list are found at once", () => {
  const numbers = Array.from({ length: 90_000 }, (_, n) => BigInt(n));
  const began = performance.now();
  assert.equal(run("self.distinct().size()", numbers), 90_000n);
  assert(performance.now() - began < 20_000);
  assert.deepEqual(run("[1, '1', 1.0, '1', {'a': 1}, {'a': 1}, '{\"a\":\"1n\"}'].distinct().size()"), 5n);
});

test("expressions of users take no more time than there is text", () => {
  const text = "a".repeat(1_000);
  assert.equal(run("self.matches('(a+)+$')", text), true);
  assert.equal(run("self.matches('(a|a)*b')", text), false);
  assert.throws(
    () =>
      run(
        "self.all(x, x.matches('(a|aa)+$'))",
        Array.from({ length: 3_000 }, () => text),
      ),
    CostExceeded,
  );
});

test("all checks of one object share an account", () => {
  const numbers = Array.from({ length: 300 }, (_, n) => BigInt(n));
  const program = compileCel(newEnvironment().registerVariable("self", "dyn"), "self.all(x, self.all(y, x >= 0))");
  assert.throws(
    () =>
      budget.all(() => {
        for (let times = 0; times < 100; times++) program({ self: numbers });
      }),
    CostExceeded,
  );
  assert.equal(program({ self: numbers }), true);
});
