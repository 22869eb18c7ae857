import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareResourceVersions, isNotNewer } from "./resource-version.ts";

test("resource versions are ordered as the numbers they are, however long", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n }), (a, b) => {
      const order = compareResourceVersions(String(a), String(b)) ?? Number.NaN;
      assert.equal(Math.sign(order), a < b ? -1 : a > b ? 1 : 0);
      assert.equal(isNotNewer(String(a), String(b)), a <= b);
    }),
  );
});

test("nothing is said of versions that are not numbers", () => {
  for (const odd of ["", "abc", "01", "-1", "1.5", "0x10"]) {
    assert.equal(compareResourceVersions(odd, "5"), undefined);
    assert.equal(isNotNewer(odd, "5"), false);
  }
});
