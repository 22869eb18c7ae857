import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createPatch } from "rfc6902";
import { StatusError } from "../status-error.ts";
import { jsonPatch } from "./json-patch.ts";

test("makes of any value any other, as a patch made by somebody else says", () => {
  const value = fc.jsonValue({ maxDepth: 3 }).filter((one) => !JSON.stringify(one).includes("__proto__"));
  fc.assert(
    fc.property(value, value, (from, to) => {
      const before = structuredClone(from);
      const operations = createPatch({ root: from }, { root: to });
      assert.deepEqual(jsonPatch({ root: from }, operations), { root: to });
      assert.deepEqual(from, before);
    }),
  );
});

test("is as lenient as the real server", () => {
  assert.deepEqual(jsonPatch({ a: 1 }, [{ op: "replace", path: "/b", value: 2 }]), { a: 1, b: 2 });
  assert.deepEqual(jsonPatch({ a: 1 }, [{ op: "copy", from: "/b", path: "/c" }]), { a: 1, c: null });
  assert.deepEqual(jsonPatch({ a: 1 }, [{ op: "add", path: "/b" }]), { a: 1, b: null });
  assert.deepEqual(jsonPatch({ a: [1, 2, 3] }, [{ op: "remove", path: "/a/-1" }]), { a: [1, 2] });
});

test("whatever cannot be done has one answer", () => {
  const wrong = [
    [{ op: "test", path: "/a", value: 2 }],
    [{ op: "remove", path: "/b" }],
    [{ op: "move", from: "/b", path: "/c" }],
    [{ op: "add", path: "/b/c", value: 1 }],
    [{ op: "add", path: "a", value: 1 }],
    [{ op: "odd", path: "/a" }],
    [{ path: "/a" }],
    [{ op: "remove" }],
    [null],
  ];
  for (const operations of wrong) {
    assert.throws(
      () => jsonPatch({ a: 1 }, operations),
      (error) =>
        error instanceof StatusError &&
        error.code === 422 &&
        error.message === "the server rejected our request due to an error in our request",
    );
  }
});

test("never throws anything but a refusal, and leaves JavaScript's own parts alone", () => {
  const path = fc.constantFrom("", "/", "/a", "/a/0", "/__proto__/x", "/constructor/prototype/x", "/b/~1/~0", "a");
  const operation = fc.record({
    op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
    path,
    from: path,
    value: fc.jsonValue(),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 5 }), (operations) => {
      try {
        jsonPatch({ a: [1], b: { "/": { "~": 1 } } }, operations);
      } catch (error) {
        assert.ok(error instanceof StatusError);
      }
      assert.equal(({} as { x?: unknown }).x, undefined);
    }),
  );
});

test("copies of copies are refused before they take all memory", () => {
  const copies = Array.from({ length: 60 }, (_, n) => ({ op: "copy", from: "/a", path: `/a/x${n}` }));
  assert.throws(() => jsonPatch({ a: { text: "x".repeat(100) } }, copies), { code: 413 });
});

test("what is moved or copied into itself until it is deeper than any body is refused", () => {
  const deeper = (times: number) =>
    Array.from({ length: times }, () => [
      { op: "move", from: "/x", path: "/y" },
      { op: "add", path: "/x", value: {} },
      { op: "move", from: "/y", path: "/x/y" },
    ]).flat();
  assert.doesNotThrow(() => jsonPatch({ x: {} }, deeper(900)));
  assert.throws(() => jsonPatch({ x: {} }, deeper(3_300)), StatusError);
  assert.throws(() => jsonPatch({ x: {} }, [...deeper(3_300), { op: "copy", from: "/x", path: "/z" }]), StatusError);
});
