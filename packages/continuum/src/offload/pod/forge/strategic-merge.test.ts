import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { strategicMerge } from "./strategic-merge.ts";

const spec = {
  containers: [
    { name: "a", image: "a:1", env: [{ name: "X", value: "1" }] },
    { name: "b", image: "b:1" },
  ],
  tolerations: [{ key: "x" }],
  nodeSelector: { p: "q" },
};

test("items of a list are told apart by their names, and new ones are added", () => {
  const merged = strategicMerge(spec, {
    containers: [
      { name: "b", image: "b:2" },
      { name: "c", image: "c:1" },
    ],
  });
  assert.deepEqual(
    merged.containers.map(({ name, image }) => `${name} ${image}`),
    ["a a:1", "b b:2", "c c:1"],
  );
  assert.deepEqual(merged.containers[0], spec.containers[0]);
});

test("an item is deleted, a list replaced, a field taken away", () => {
  const without = strategicMerge(spec, { containers: [{ name: "a", $patch: "delete" }] });
  assert.deepEqual(without.containers, [spec.containers[1]]);
  const replaced = strategicMerge(spec, { containers: [{ $patch: "replace" }, { name: "z" }] });
  assert.deepEqual(replaced.containers, [{ name: "z" }]);
  assert.equal(strategicMerge(spec, { nodeSelector: null }).nodeSelector, undefined);
  assert.deepEqual(strategicMerge(spec, { nodeSelector: { $patch: "replace", r: "s" } }).nodeSelector, { r: "s" });
});

test("a list without names is replaced as a whole", () => {
  assert.deepEqual(strategicMerge(spec, { tolerations: [{ key: "y" }] }).tolerations, [{ key: "y" }]);
});

test("whatever the patch, merging twice is merging once, and the original stays", () => {
  const before = structuredClone(spec);
  fc.assert(
    fc.property(fc.object({ maxDepth: 3, withNullPrototype: false }), (patch) => {
      const once = strategicMerge(spec, patch);
      assert.deepEqual(strategicMerge(once, patch), once);
      assert.deepEqual(spec, before);
    }),
  );
});
