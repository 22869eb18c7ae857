import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { testedAgent, testedFjord } from "./tested-program.ts";

for (const [variable, tested, place] of [
  ["FJORD_TEST_PROGRAM", testedFjord, "cli"],
  ["FJORD_TEST_AGENT", testedAgent, "agent"],
] as const) {
  test(`is what ${variable} names`, () => {
    assert.equal(tested({ [variable]: "/built/program.mjs" }), "/built/program.mjs");
  });

  for (const [said, env] of Object.entries({ "not set": {}, empty: { [variable]: "" } })) {
    test(`is the source of ${place} where ${variable} is ${said}`, () => {
      const source = tested(env);

      assert.ok(source.endsWith(`/packages/${place}/src/cli.ts`), source);
      assert.ok(existsSync(source), source);
    });
  }
}
