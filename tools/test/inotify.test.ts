import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { allowInotify } from "./inotify.ts";

test("a limit that is too low is raised, and as before in the end; a higher one, or none, is left alone", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "fjord-inotify-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "limit");
  assert.equal(allowInotify(file), undefined);
  writeFileSync(file, "128\n");
  const giveBack = allowInotify(file);
  assert.equal(readFileSync(file, "utf8"), "1024\n");
  giveBack?.();
  assert.equal(readFileSync(file, "utf8"), "128\n");
  writeFileSync(file, "8192\n");
  assert.equal(allowInotify(file), undefined);
  assert.equal(readFileSync(file, "utf8"), "8192\n");
});
