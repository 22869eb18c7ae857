import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { heapUsed } from "./heap-used.ts";
import { SharedStrings } from "./shared-strings.ts";

test("sharing changes no value", () => {
  const strings = new SharedStrings();
  const text = fc.string({ minLength: 0, maxLength: 30 });
  const value = fc.dictionary(text, fc.oneof(text, fc.array(text), fc.jsonValue()));
  fc.assert(
    fc.property(value, (value) => {
      const object = JSON.parse(JSON.stringify(value)) as object;
      const before = structuredClone(object);
      strings.share(object);
      assert.ok(isDeepStrictEqual(object, before));
    }),
  );
});

test("objects that are alike take less memory shared", () => {
  const heapOf = (share: (object: object) => void) => {
    const before = heapUsed();
    const objects = Array.from({ length: 20_000 }, (_, at) => {
      const object = JSON.parse(
        `{"image":"registry.example.com/team/web:v1","node":"node-${at % 9}.example.internal"}`,
      );
      share(object);
      return object;
    });
    return (heapUsed() - before) / objects.length;
  };
  const strings = new SharedStrings();
  assert.ok(heapOf((object) => strings.share(object)) < 0.6 * heapOf(() => {}));
});

test("the frozen parts that a client shares are left alone", () => {
  const object = { fieldsV1: Object.freeze({ text: "the same text twice" }), spec: { text: "the same text twice" } };
  const before = structuredClone(object);
  const strings = new SharedStrings();
  for (let round = 0; round < 2; round++) strings.share(object);
  assert.deepEqual(object, before);
});

test("an object of any depth is taken", () => {
  const levels = 50_000;
  const object = JSON.parse(`${'{"a":'.repeat(levels)}"a text to be shared"${"}".repeat(levels)}`) as object;
  new SharedStrings().share(object);
});
