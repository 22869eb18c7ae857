import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { contains, type Family, type IpRange } from "./ip-range.ts";
import { RangeSet } from "./range-set.ts";

/** Few bits, so that many of them meet. */
const ranges = fc
  .record({ family: fc.constantFrom<Family>(4, 6), bits: fc.bigInt(0n, 63n), less: fc.integer({ min: 0, max: 6 }) })
  .map(({ family, bits, less }): IpRange => {
    const first = ((family === 4 ? 10n << 24n : 0xfdn << 120n) + bits) >> BigInt(less);
    return { family, first: first << BigInt(less), length: (family === 4 ? 32 : 128) - less };
  });
const addresses = ranges.map((range): IpRange => ({ ...range, length: range.family === 4 ? 32 : 128 }));

test("a set of ranges has the addresses of each of them, and no others", () => {
  fc.assert(
    fc.property(fc.array(ranges, { maxLength: 12 }), addresses, (some, address) => {
      assert.equal(
        new RangeSet(some).has(address),
        some.some((range) => contains(range, address)),
      );
    }),
  );
});
