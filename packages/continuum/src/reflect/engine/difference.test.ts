import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { difference } from "./difference.ts";

describe("a difference", () => {
  const value = fc.letrec((tie) => ({
    leaf: fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 })),
    node: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.oneof({ maxDepth: 3 }, tie("leaf"), tie("node")), {
      noNullPrototype: true,
    }),
  })).node as fc.Arbitrary<Record<string, unknown>>;

  it("is a merge patch that makes the one of the other, and nothing where they are the same", () => {
    fc.assert(
      fc.property(value, value, (seen, wanted) => {
        const patch = difference(seen, wanted);
        assert.deepEqual(patch === undefined ? seen : merged(seen, patch), wanted);
        assert.equal(difference(wanted, wanted), undefined);
      }),
    );
  });
});

function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result = { ...(typeof target === "object" && !Array.isArray(target) ? (target as object) : {}) } as Record<
    string,
    unknown
  >;
  for (const [name, each] of Object.entries(patch)) {
    if (each === null) delete result[name];
    else result[name] = merged(result[name], each);
  }
  return result;
}
