import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

test("the program still says what its options are, although it starts itself anew", () => {
  const cli = join(import.meta.dirname, "..", "cli.ts");
  const text = execFileSync(process.execPath, [cli, "run", "--help"], { encoding: "utf8" });
  assert.match(text, /--max-pods/);
});
