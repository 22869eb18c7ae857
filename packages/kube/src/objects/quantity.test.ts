import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatBytes, formatProcessors, inThousandths, inUnits, parseQuantity } from "./quantity.ts";

test("quantities are read with every suffix", () => {
  const cases: [string | number, number][] = [
    ["0", 0],
    ["1", 1000],
    [2, 2000],
    ["250m", 250],
    ["1.5", 1500],
    [".5", 500],
    ["1.", 1000],
    ["100u", 1],
    ["1n", 1],
    ["1k", 1_000_000],
    ["1Ki", 1_024_000],
    ["1e3", 1_000_000],
    ["1E2", 100_000],
    ["25e-2", 250],
    ["+3", 3000],
  ];
  for (const [text, thousandths] of cases) assert.equal(inThousandths(parseQuantity(text)), thousandths, String(text));
  assert.equal(inUnits(parseQuantity("64Mi")), 64 * 1024 * 1024);
  assert.equal(inUnits(parseQuantity("1Ei")), 2 ** 60);
  assert.equal(inUnits(parseQuantity("1E")), 1e18);
});

test("what is no quantity is refused with its words", () => {
  for (const text of ["", "m", ".", "1 Gi", "1ki", "1GiB", "0x10", "1e", "--1", "1.5.2", "NaN", "1Zi"]) {
    assert.throws(() => parseQuantity(text), {
      message: new RegExp(`${JSON.stringify(text).replaceAll(".", "\\.")} is not`),
    });
  }
});

test("a quantity of a million digits, or with a large exponent, is read as quickly as any other", () => {
  const largest = parseQuantity("1e75");
  for (const text of ["9".repeat(1_000_000), `${"9".repeat(1_000_000)}Ei`, "9e99999", "1e300"])
    assert.equal(parseQuantity(text), largest, text.slice(0, 20));
  assert.equal(parseQuantity("-9e99999"), -largest);
  assert.equal(parseQuantity("1e-99999"), 1n);
  assert.equal(parseQuantity(`0.${"0".repeat(1_000_000)}`), 0n);
  assert.equal(parseQuantity(`${"0".repeat(1_000_000)}2.5`), parseQuantity("2500m"));
  assert.equal(parseQuantity(`2.5${"0".repeat(1_000_000)}`), parseQuantity("2500m"));
  assert.equal(parseQuantity(`2.5${"0".repeat(1_000_000)}1`), parseQuantity("2500m") + 1n);
  const before = process.cpuUsage();
  for (let count = 0; count < 10_000; count++) parseQuantity("9e99999");
  const microseconds = process.cpuUsage(before).user;
  assert.ok(microseconds < 5_000_000, `${microseconds} µs of the processor for 10,000 of them`);
});

test("rounding is up, as in Kubernetes", () => {
  assert.equal(inUnits(parseQuantity("1001m")), 2);
  assert.equal(inUnits(parseQuantity("1500Mi"), parseQuantity("1Gi")), 2);
  assert.equal(inThousandths(parseQuantity("0.0001")), 1);
});

test("what is written reads as the same amount", () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), (amount) => {
      assert.equal(inThousandths(parseQuantity(formatProcessors(amount))), amount);
      assert.equal(inUnits(parseQuantity(formatBytes(amount))), amount);
    }),
  );
});
