import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { outputFolder } from "./output-folder.ts";

const root = mkdtempSync(join(tmpdir(), "fjord-output-"));
after(() => rmSync(root, { recursive: true }));
const output = { command: "npm run release", usual: "dist/release", sign: "package/fjord.mjs" };
const asked = (...args: readonly string[]) => outputFolder(root, args, output);

test("without a word it is the usual folder, and with one another that is new, empty or its own", () => {
  assert.deepEqual(asked(), { folder: join(root, "dist/release") });
  assert.deepEqual(asked("new"), { folder: join(root, "new") });
  mkdirSync(join(root, "empty"));
  assert.deepEqual(asked("empty"), { folder: join(root, "empty") });
  mkdirSync(join(root, "own/package"), { recursive: true });
  writeFileSync(join(root, "own/package/fjord.mjs"), "");
  assert.deepEqual(asked("own"), { folder: join(root, "own") });
});

test("a folder with somebody's files is not emptied, the repository itself among them", () => {
  writeFileSync(join(root, "README.md"), "");
  for (const wanted of [".", root]) assert.match(JSON.stringify(asked(wanted)), /refusal.*has files in it/);
  assert.match(JSON.stringify(asked("README.md")), /refusal.*is no folder/);
});

test("an option is no folder", () => {
  assert.match(JSON.stringify(asked("--help")), /"usage":"usage: npm run release \[-- FOLDER\]/);
  for (const wanted of [["--bogus"], [""], ["one", "two"]])
    assert.match(JSON.stringify(asked(...wanted)), /refusal":"usage/);
});
