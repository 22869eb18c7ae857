import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

test("an agent does without the client behind fetch, which takes 4 MB from whoever imports node:http", () => {
  const program = `await import("./agent.ts"); console.log(process.moduleLoadList.filter((name) => name.includes("undici")).length)`;
  const args = ["--input-type=module", "--eval", program];
  const loaded = execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8" });
  assert.equal(loaded.trim(), "0");
});
