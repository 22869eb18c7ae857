import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { builtInSchemas } from "../schema/built-in-schemas.ts";
import type { JsonObject } from "./json-value.ts";
import { strategicMerge } from "./strategic-merge.ts";

const schema = builtInSchemas().of({ group: "", version: "v1", kind: "Pod" });
const pod = {
  metadata: { name: "p", labels: { a: "1", b: "2" }, finalizers: ["x/a", "x/b"] },
  spec: {
    containers: [
      { name: "a", image: "a:1" },
      { name: "b", image: "b:1" },
      { name: "c", image: "c:1" },
    ],
    tolerations: [{ key: "t" }],
  },
};
const merged = (patch: JsonObject) => strategicMerge(pod, patch, schema) as typeof pod;
const names = (patch: unknown) => merged({ spec: patch }).spec.containers.map(({ name }) => name);

test("merges elements by their key and keeps the others", () => {
  const { containers } = merged({ spec: { containers: [{ name: "b", image: "b:2" }] } }).spec;
  assert.deepEqual(
    containers.map(({ image }) => image),
    ["a:1", "b:2", "c:1"],
  );
  assert.deepEqual(names({ containers: [{ name: "d" }] }), ["d", "a", "b", "c"]);
  assert.deepEqual(merged({ spec: { tolerations: [{ key: "u" }] } }).spec.tolerations, [{ key: "u" }]);
});

test("obeys directives", () => {
  assert.deepEqual(names({ containers: [{ name: "b", $patch: "delete" }] }), ["a", "c"]);
  assert.deepEqual(names({ containers: [{ $patch: "replace" }, { name: "z" }] }), ["z"]);
  assert.deepEqual(names({ "$setElementOrder/containers": [{ name: "c" }, { name: "a" }, { name: "b" }] }), [
    "c",
    "a",
    "b",
  ]);
  assert.deepEqual(merged({ metadata: { labels: { $patch: "replace", z: "1" } } }).metadata.labels, { z: "1" });
  assert.deepEqual(merged({ metadata: { labels: { a: null, c: "3" } } }).metadata.labels, { b: "2", c: "3" });
  assert.deepEqual(merged({ metadata: { "$deleteFromPrimitiveList/finalizers": ["x/a"] } }).metadata.finalizers, [
    "x/b",
  ]);
  assert.deepEqual(merged({ metadata: { finalizers: ["x/c"] } }).metadata.finalizers, ["x/c", "x/a", "x/b"]);
  assert.deepEqual(merged({ metadata: { $retainKeys: ["name"], name: "p" } }).metadata, { name: "p" });
});

test("takes a directive for no element where there was no list before", () => {
  const status = strategicMerge({}, { status: { podIPs: [{ ip: "10.0.0.1" }, { $patch: "replace" }] } }, schema);
  assert.deepEqual(status, { status: { podIPs: [{ ip: "10.0.0.1" }] } });
});

test("says what is wrong with a patch", () => {
  const wrong: [JsonObject, string][] = [
    [{ $patch: "bad" }, "unknown patch type: bad in map: map[$patch:bad]"],
    [{ metadata: { $retainKeys: ["labels"], name: "x" } }, "invalid patch format of retainKeys"],
    [{ spec: { containers: [{ image: "x" }] } }, "map: map[image:x] does not contain declared merge key: name"],
    [
      { spec: { "$setElementOrder/containers": [{ name: "a" }], containers: [{ name: "b" }] } },
      "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
  ];
  for (const [patch, message] of wrong) assert.throws(() => merged(patch), { code: 400, message });
});

test("a patch without directives twice is a patch once, and changes neither of what it is given", () => {
  const container = fc.record({ name: fc.constantFrom("a", "b", "z"), image: fc.constantFrom("i:1", "i:2", null) });
  const patches = fc.record(
    {
      metadata: fc.record(
        { labels: fc.dictionary(fc.constantFrom("a", "b", "q"), fc.constantFrom("x", null)) },
        { requiredKeys: [] },
      ),
      spec: fc.record(
        { containers: fc.uniqueArray(container, { selector: ({ name }) => name }) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      patches.map((one) => JSON.parse(JSON.stringify(one))),
      (patch) => {
        const [before, given] = [structuredClone(pod), structuredClone(patch)];
        const once = strategicMerge(pod, patch, schema);
        assert.deepEqual(strategicMerge(once, patch, schema), once);
        assert.deepEqual([pod, patch], [before, given]);
      },
    ),
  );
});
