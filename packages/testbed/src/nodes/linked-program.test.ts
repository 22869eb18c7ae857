import assert from "node:assert/strict";
import { test } from "node:test";
import { linkedProgram } from "./linked-program.ts";

test("a program comes with what the loader will look for, at absolute paths", {
  skip: process.platform !== "linux",
}, () => {
  const [program, ...libraries] = linkedProgram(process.execPath, "/bin/node");
  assert.equal(program?.path, "bin/node");
  assert.ok(program !== undefined && "mode" in program && ((program.mode ?? 0) & 0o111) !== 0, "it can be run");
  assert.ok(
    libraries.some(({ path }) => /\/ld-[^/]*\.so/.test(path)),
    "the loader itself",
  );
  assert.ok(libraries.every(({ path }) => !path.startsWith("/")));
});
