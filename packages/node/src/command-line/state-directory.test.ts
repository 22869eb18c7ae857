import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeStateDirectory, stateDirectoryOf } from "./state-directory.ts";

test("the state directory is made with its parents, for its owner alone, and may be there already", async () => {
  const root = await mkdtemp(join(tmpdir(), "fjord-state-"));
  try {
    const path = join(root, "a/b/c");
    await makeStateDirectory(path);
    await makeStateDirectory(path);
    assert.equal((await stat(path)).mode & 0o777, 0o700);
  } finally {
    await rm(root, { recursive: true });
  }
});

test("where no directory can be made is an error, and soon", async () => {
  await assert.rejects(makeStateDirectory("/proc/fjord/state"), { code: "ENOENT" });
  await assert.rejects(makeStateDirectory("/etc/passwd/state"), { code: "ENOTDIR" });
});

test("without an option the state directory is the machine's for root and the user's for others", () => {
  assert.equal(stateDirectoryOf({}, { home: "/home/ada", isRoot: true }), "/var/lib/fjord-node");
  assert.equal(stateDirectoryOf({}, { home: "/home/ada", isRoot: false }), "/home/ada/.local/share/fjord/node");
  assert.equal(stateDirectoryOf({ stateDir: "/data/" }, { home: "/", isRoot: false }), "/data");
  assert.throws(() => stateDirectoryOf({ stateDir: "" }, { home: "/", isRoot: true }), {
    message: /--state-dir : is empty/,
  });
});
