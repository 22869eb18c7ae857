import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { testedFjord } from "./tested-program.ts";

test("is what FJORD_TEST_PROGRAM names", () => {
  assert.equal(testedFjord({ FJORD_TEST_PROGRAM: "/built/fjord.mjs" }), "/built/fjord.mjs");
});

for (const [said, env] of Object.entries({ "not set": {}, empty: { FJORD_TEST_PROGRAM: "" } })) {
  test(`is the command's source where FJORD_TEST_PROGRAM is ${said}`, () => {
    const source = testedFjord(env);

    assert.match(source, /\/packages\/cli\/src\/cli\.ts$/);
    assert.ok(existsSync(source), source);
  });
}
