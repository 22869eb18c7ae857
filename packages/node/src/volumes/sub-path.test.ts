import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { makeSubPath, openSubPath, pathOf } from "./sub-path.ts";

async function makeVolume(t: TestContext): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "sub-path-")));
  t.after(() => rm(base, { recursive: true, force: true }));
  await mkdir(join(base, "outside"));
  await writeFile(join(base, "outside/secret"), "secret");
  await mkdir(join(base, "volume/data"), { recursive: true });
  await writeFile(join(base, "volume/data/file"), "x");
  return join(base, "volume");
}

async function resolve(volume: string, subPath: string): Promise<string> {
  const handle = await makeSubPath(volume, subPath);
  try {
    return (await pathOf(handle)).slice(volume.length);
  } finally {
    await handle.close();
  }
}

test("paths inside the volume are found, by its own links too", async (t) => {
  const volume = await makeVolume(t);
  await symlink("data", join(volume, "relative"));
  await symlink(join(volume, "data"), join(volume, "absolute"));
  await symlink("../data/file", join(volume, "data/around"));
  const cases: [string, string][] = [
    ["data", "/data"],
    ["data/file", "/data/file"],
    ["./data//file", "/data/file"],
    ["relative/file", "/data/file"],
    ["absolute/file", "/data/file"],
    ["data/around", "/data/file"],
    [".", ""],
  ];
  for (const [subPath, found] of cases) assert.equal(await resolve(volume, subPath), found, subPath);
});

test("what is missing is made, with the mode of the volume", async (t) => {
  const volume = await makeVolume(t);
  await chmod(volume, 0o2777);
  assert.equal(await resolve(volume, "new/er/est"), "/new/er/est");
  for (const path of ["new", "new/er", "new/er/est"]) {
    assert.equal((await stat(join(volume, path))).mode & 0o7777, 0o2777);
  }
  await symlink("data", join(volume, "link"));
  assert.equal(await resolve(volume, "link/made"), "/data/made");
});

test("where nothing is to be made, what is missing is refused", async (t) => {
  const volume = await makeVolume(t);
  const handle = await openSubPath(volume, "data/file");
  await handle.close();
  await assert.rejects(openSubPath(volume, "data/none"), { code: "INVALID_FILE_PATH" });
  assert.deepEqual(await readdir(join(volume, "data")), ["file"]);
});

test("no path leads out of the volume", async (t) => {
  const volume = await makeVolume(t);
  await symlink("../outside", join(volume, "up"));
  await symlink(join(volume, "../outside"), join(volume, "absolute"));
  await symlink("/", join(volume, "root"));
  await symlink("../outside/new", join(volume, "dangling"));
  await symlink("loop", join(volume, "loop"));
  for (const subPath of ["/data", "..", "data/../..", "../outside", "a\0b"]) {
    await assert.rejects(makeSubPath(volume, subPath), { code: "INVALID_FILE_PATH" }, subPath);
  }
  for (const subPath of ["up", "up/secret", "up/new", "absolute/secret", "root/etc/passwd", "root/tmp/new-thing"]) {
    await assert.rejects(makeSubPath(volume, subPath), { code: "INVALID_FILE_PATH" }, subPath);
  }
  await assert.rejects(makeSubPath(volume, "dangling"));
  await assert.rejects(makeSubPath(volume, "dangling/x"));
  await assert.rejects(makeSubPath(volume, "loop"), { code: "ELOOP" });
  await assert.rejects(makeSubPath(volume, "data/file/below"), { code: "ENOTDIR" });
  assert.deepEqual(await readdir(join(volume, "../outside")), ["secret"]);
});

test("whatever links a pod leaves, what is found is inside", async (t) => {
  const volume = await makeVolume(t);
  const part = fc.constantFrom("data", "a", "b", "file", ".");
  const target = fc.constantFrom(
    "..",
    "../outside",
    "data",
    "b",
    "a",
    "/",
    "../volume",
    "data/file",
    "../../tmp",
    "a/b",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(part, target), { maxLength: 4 }),
      fc.array(part, { maxLength: 4 }),
      async (links, path) => {
        await rm(volume, { recursive: true });
        await mkdir(join(volume, "data"), { recursive: true });
        for (const [name, to] of links) await symlink(to, join(volume, name)).catch(() => {});
        const found = await makeSubPath(volume, path.join("/")).catch(() => undefined);
        if (found === undefined) return;
        const where = await pathOf(found);
        await found.close();
        assert.ok(where === volume || where.startsWith(`${volume}/`), where);
        assert.deepEqual(await readdir(join(volume, "../outside")), ["secret"]);
      },
    ),
    { numRuns: 200 },
  );
});

test("a directory that becomes a link after it was opened is not followed", async (t) => {
  const volume = await makeVolume(t);
  const handle = await makeSubPath(volume, "data");
  await rm(join(volume, "data"), { recursive: true });
  await symlink("../outside", join(volume, "data"));
  assert.match(await pathOf(handle), /\(deleted\)$/);
  await handle.close();
});
