import assert from "node:assert/strict";
import { test } from "node:test";
import { describeError } from "@fjord/base";
import { fileOption } from "./file-option.ts";

test("a file that cannot be read is told with its option", async () => {
  const told = await fileOption("--ca", "/nowhere/ca.crt").catch(describeError);
  assert.match(told, /^--ca \/nowhere\/ca\.crt: cannot be read: ENOENT/);
});

test("a file is read", async () => {
  assert.match(await fileOption("--ca", import.meta.filename), /a file is read/);
});
