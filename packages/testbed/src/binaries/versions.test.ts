import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  compareVersions,
  DEFAULT_MINOR,
  isKubernetesMinor,
  KUBERNETES,
  KUBERNETES_MINORS,
  sameMinor,
} from "./versions.ts";

const version = fc.tuple(fc.nat(40), fc.nat(40), fc.nat(40));
const write = (numbers: readonly number[]) => `v${numbers.join(".")}`;

test("each minor is pinned to a patch release of that minor", () => {
  for (const minor of KUBERNETES_MINORS) assert.ok(KUBERNETES[minor].version.startsWith(`v${minor}.`));
  assert.ok(isKubernetesMinor(DEFAULT_MINOR));
  assert.ok(!isKubernetesMinor("1.12"));
  assert.ok(!isKubernetesMinor("toString"));
});

test("versions are ordered by their numbers, not by their letters", () => {
  assert.equal(compareVersions("go1.9", "go1.26.8"), -1);
  assert.equal(compareVersions("go1.26rc1", "1.26.0"), 0);
  fc.assert(
    fc.property(version, version, (a, b) => {
      const expected = Math.sign((a[0] - b[0]) * 1e4 + (a[1] - b[1]) * 1e2 + (a[2] - b[2]));
      assert.equal(compareVersions(write(a), write(b)), expected);
    }),
  );
});

test("a patch release stays within its minor", () => {
  fc.assert(
    fc.property(version, fc.nat(40), ([major, minor, patch], other) => {
      assert.ok(sameMinor(write([major, minor, patch]), write([major, minor, other])));
      assert.ok(!sameMinor(write([major, minor, patch]), write([major, minor + 1, patch])));
    }),
  );
});
