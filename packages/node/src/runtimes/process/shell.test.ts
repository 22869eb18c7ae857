import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { commandLine } from "./shell.ts";

test("a shell reads every word back as it was", () => {
  const word = fc.string({ unit: "binary" }).filter((text) => !text.includes("\0"));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      const output = execFileSync("sh", ["-c", `printf '%s\\0' ${commandLine(words)}`], { encoding: "utf8" });
      // Lone surrogates have no UTF-8.
      const expected = words.map((each) => Buffer.from(each).toString());
      assert.deepEqual(output.split("\0").slice(0, -1), expected);
    }),
    { numRuns: 30 },
  );
});
