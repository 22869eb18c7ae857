import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { allowInotify } from "./inotify.ts";

describe("how many inotify instances a user may have", () => {
  let folder: string;
  let file: string;
  const allow = (pid?: number) => allowInotify(file, join(folder, "holders"), pid);
  const limit = () => readFileSync(file, "utf8");

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "fjord-inotify-"));
    file = join(folder, "limit");
    writeFileSync(file, "128\n");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("is raised where it is too low, and as before in the end; a higher one, or none, is left alone", () => {
    const giveBack = allow();
    assert.equal(limit(), "1024\n");
    giveBack?.();
    assert.equal(limit(), "128\n");
    writeFileSync(file, "8192\n");
    assert.equal(allow(), undefined);
    assert.equal(limit(), "8192\n");
    rmSync(file);
    assert.equal(allow(), undefined);
  });

  test("stays raised until the last of several programs has ended, in whatever order", async (t) => {
    const other = spawn("sleep", ["60"]);
    t.after(() => other.kill());
    for (const isFirst of [true, false]) {
      const [first, second] = isFirst ? [allow(), allow(other.pid)] : [allow(other.pid), allow()];
      first?.();
      assert.equal(limit(), "1024\n");
      second?.();
      assert.equal(limit(), "128\n");
    }
  });

  test("is as before in the end, too, where one of them was killed", async () => {
    const other = spawn("sleep", ["60"]);
    allow(other.pid);
    other.kill("SIGKILL");
    await once(other, "exit");
    const giveBack = allow();
    assert.equal(limit(), "1024\n");
    giveBack?.();
    assert.equal(limit(), "128\n");
    // What somebody else says afterwards counts.
    writeFileSync(file, "1024\n");
    assert.equal(allow(), undefined);
  });
});
