import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ensureHostPath } from "./host-path.ts";

test("a path must be of its type; some types make what is missing", async (t) => {
  const base = await mkdtemp(join(tmpdir(), "host-path-"));
  t.after(() => rm(base, { recursive: true, force: true }));
  const at = (name: string) => join(base, name);
  await writeFile(at("file"), "content");
  await symlink("file", at("link"));
  const server = createServer().listen(at("socket"));
  t.after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));

  for (const [path, type] of [
    [at("file"), ""],
    [at("file"), "File"],
    [at("link"), "File"],
    [at("file"), "FileOrCreate"],
    [base, "Directory"],
    [base, "DirectoryOrCreate"],
    [at("socket"), "Socket"],
    ["/dev/null", "CharDevice"],
  ] as const) {
    await ensureHostPath(path, type);
  }
  assert.deepEqual((await readdir(base)).sort(), ["file", "link", "socket"]);

  for (const [path, type, words] of [
    [at("none"), "Directory", "directory"],
    [at("none"), "File", "file"],
    [at("none"), "Socket", "socket file"],
    [at("file"), "Directory", "directory"],
    [at("file"), "DirectoryOrCreate", "directory"],
    [base, "FileOrCreate", "file"],
    [at("file"), "Socket", "socket file"],
    [at("file"), "CharDevice", "character device"],
    ["/dev/null", "BlockDevice", "block device"],
    [at("file"), "toString", "toString"],
  ] as const) {
    const message = `hostPath type check failed: ${path} is not a ${words}`;
    await assert.rejects(ensureHostPath(path, type), { message });
  }

  await ensureHostPath(at("new/directory"), "DirectoryOrCreate");
  assert.equal((await stat(at("new/directory"))).mode & 0o777, 0o755);
  await ensureHostPath(at("new/file"), "FileOrCreate");
  assert.equal((await stat(at("new/file"))).mode & 0o777, 0o644);
  await assert.rejects(ensureHostPath(at("missing/file"), "FileOrCreate"), { code: "ENOENT" });
  await ensureHostPath(at("any"));
  assert.ok((await stat(at("any"))).isDirectory());
});
