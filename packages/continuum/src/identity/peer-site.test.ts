import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { namesFor, objectNameFrom } from "./peer-site.ts";

/** Halves of characters included. */
const anyText = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes).toString("utf16le"));
const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";

test("a name becomes one that an object can have", () => {
  for (const [name, expected] of [
    ["lively-wave", "lively-wave"],
    ["Lively Wave!", "lively-wave"],
    ["--a--b--", "a-b"],
    ["Überlingen", "berlingen"],
    ["a.b/c", "a-b-c"],
    ["../../etc", "etc"],
    ["x".repeat(300), "x".repeat(50)],
    [`-${"x".repeat(49)}-y`, "x".repeat(49)],
    ["日本", undefined],
    ["", undefined],
    [undefined, undefined],
    [7, undefined],
  ] as const) {
    assert.equal(objectNameFrom(name), expected, String(name));
  }
});

test("whatever a peer calls itself, every name tried is a good one, not the own one, and the last is the peer's alone", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 300 }), anyText), (name) => {
      const names = namesFor({ id, name }, "harbour");
      for (const each of names) {
        assert.match(each, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
        assert.ok(each.length <= 63);
      }
      assert.equal(names.at(-1), `site-${id}`);
    }),
  );
  assert.ok(!namesFor({ id, name: "HARBOUR" }, "harbour").includes("harbour"));
  assert.ok(!namesFor({ id, name: "x" }, `site-${id.slice(0, 8)}`).includes(`site-${id.slice(0, 8)}`));
});

test("a name that the owner has chosen is the only one", () => {
  assert.deepEqual(namesFor({ id, name: "wave", chosenName: "quay" }, "harbour"), ["quay"]);
  assert.deepEqual(namesFor({ id, chosenName: "harbour" }, "harbour"), []);
});
