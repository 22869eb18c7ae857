import assert from "node:assert/strict";
import * as nodeFiles from "node:fs/promises";
import { mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { AtomicDirectory, type Files } from "./atomic-directory.ts";
import type { Projection } from "./file-projection.ts";

async function temporary(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "atomic-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return join(path, "volume");
}

function projection(files: Record<string, string>, mode = 0o644): Projection {
  return new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));
}

/** What a reader finds: each file that can be opened through the visible names. */
async function visible(directory: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const visit = async (path: string): Promise<void> => {
    let names: string[];
    try {
      names = await readdir(join(directory, path));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOTDIR") files[path] = await readFile(join(directory, path), "utf8");
      else if (code !== "ENOENT") throw error;
      return;
    }
    for (const name of names) if (path !== "" || !name.startsWith("..")) await visit(join(path, name));
  };
  await visit("");
  return files;
}

test("files appear under their paths, with their modes, by links into ..data", async (t) => {
  const directory = await temporary(t);
  await new AtomicDirectory(directory).write(projection({ a: "1", "b/c/d": "2", "b/e": "" }, 0o440));
  assert.deepEqual(await visible(directory), { a: "1", "b/c/d": "2", "b/e": "" });
  assert.equal(await readlink(join(directory, "a")), "..data/a");
  assert.equal(await readlink(join(directory, "b")), "..data/b");
  assert.match(await readlink(join(directory, "..data")), /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\w+$/);
  assert.equal((await stat(join(directory, "b/c/d"))).mode & 0o7777, 0o440);
  assert.equal((await stat(join(directory, "b/c"))).mode & 0o7777, 0o755);
});

test("only changes are written", async (t) => {
  const directory = await temporary(t);
  const volume = new AtomicDirectory(directory);
  assert.equal(await volume.write(projection({ a: "1", b: "2" })), true);
  const version = await readlink(join(directory, "..data"));
  assert.equal(await volume.write(projection({ b: "2", a: "1" })), false);
  assert.equal(await readlink(join(directory, "..data")), version);
  assert.equal(await volume.write(projection({ a: "1" })), true);
  assert.deepEqual(await visible(directory), { a: "1" });
  assert.equal(await volume.write(projection({})), true);
  assert.deepEqual(await readdir(directory).then((names) => names.filter((name) => !name.startsWith(".."))), []);
  assert.equal((await readdir(directory)).length, 2, "..data and the version that it leads to");
});

test("a file may become a directory and the other way round", async (t) => {
  const directory = await temporary(t);
  const volume = new AtomicDirectory(directory);
  const all: Record<string, string>[] = [{ a: "1" }, { "a/b": "2" }, { "a/b/c": "3" }, { a: "4" }];
  for (const files of all) {
    await volume.write(projection(files));
    assert.deepEqual(await visible(directory), files);
  }
});

test("places for other mounts are made and kept", async (t) => {
  const directory = await temporary(t);
  const volume = new AtomicDirectory(directory);
  await volume.write(projection({ a: "1" }), ["cache", "deep/er"]);
  await volume.write(projection({ b: "1" }), ["cache", "deep/er"]);
  assert.ok((await stat(join(directory, "cache"))).isDirectory());
  assert.ok((await stat(join(directory, "deep/er"))).isDirectory());
  assert.deepEqual(await visible(directory), { b: "1" });
  await assert.rejects(volume.write(projection({}), ["../out"]), { code: "INVALID_FILE_PATH" });
});

test("paths that lead elsewhere are refused before anything is written", async (t) => {
  const directory = await temporary(t);
  const volume = new AtomicDirectory(directory);
  const paths = ["", "/etc/passwd", "../x", "a/../../x", "..data", "..x/y", ".", "a/..", "x".repeat(256), "a\0b"];
  for (const path of [...paths, "y/".repeat(2100)]) {
    await assert.rejects(volume.write(projection({ good: "1", [path]: "2" })), { code: "INVALID_FILE_PATH" });
  }
  await assert.rejects(volume.write(projection({ a: "1", "a/b": "2" })), { code: "INVALID_FILE_PATH" });
  await assert.rejects(stat(directory), { code: "ENOENT" });
  await volume.write(projection({ "./a//b": "1", "c..d": "2", "e/..f": "3" }));
  assert.deepEqual(await visible(directory), { "a/b": "1", "c..d": "2", "e/..f": "3" });
});

test("more than a node can bear is refused", async (t) => {
  const directory = await temporary(t);
  const data = Buffer.alloc(33 * 1024 * 1024);
  const files = new Map(["a", "b"].map((path) => [path, { data, mode: 0o644 }]));
  await assert.rejects(new AtomicDirectory(directory).write(files), { code: "VOLUME_TOO_LARGE" });
});

/** Real files until the count is used up; from then on the process is as good as dead. */
function dyingFiles(steps: number): Files & { dead: boolean } {
  let left = steps;
  const state = { dead: false };
  const wrapped = Object.fromEntries(
    Object.entries(nodeFiles).map(([name, operation]) => [
      name,
      async (...parameters: unknown[]) => {
        if (left-- <= 0) {
          state.dead = true;
          throw new Error("killed");
        }
        return (operation as (...all: unknown[]) => unknown)(...parameters);
      },
    ]),
  );
  return Object.defineProperty(wrapped, "dead", { get: () => state.dead }) as unknown as Files & { dead: boolean };
}

const versions = fc.dictionary(fc.constantFrom("a", "b", "c/x", "c/y", "d/e/f"), fc.constantFrom("1", "2", "3"), {
  maxKeys: 5,
  noNullPrototype: true,
});

test("whatever is interrupted, a reader sees one whole version, and the next write is complete", async (t) => {
  const directory = await temporary(t);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(versions, fc.nat(40)), { minLength: 1, maxLength: 6 }), async (writes) => {
      await rm(directory, { recursive: true, force: true });
      let seen: Record<string, string> = {};
      for (const [files, steps] of writes) {
        const operations = dyingFiles(steps);
        let failed = false;
        await new AtomicDirectory(directory, { files: operations }).write(projection(files)).catch(() => {
          failed = true;
        });
        assert.equal(failed, operations.dead);
        const now = await visible(directory).catch(() => ({}));
        if (failed)
          assert.ok(same(now, seen) || same(now, files), `${JSON.stringify(now)} after ${JSON.stringify(seen)}`);
        else assert.deepEqual(now, files);
        seen = now;
      }
      const last = { a: "end", "c/x": "end" };
      await new AtomicDirectory(directory).write(projection(last));
      assert.deepEqual(await visible(directory), last);
      assert.deepEqual((await readdir(directory)).filter((name) => name.startsWith("..")).length, 2);
    }),
    { numRuns: 150 },
  );
});

function same(a: Record<string, string>, b: Record<string, string>): boolean {
  const entries = (files: Record<string, string>) => JSON.stringify(Object.entries(files).sort());
  return entries(a) === entries(b);
}

test("readers that look while it is written never see two versions at once", async (t) => {
  const directory = await temporary(t);
  const volume = new AtomicDirectory(directory);
  await volume.write(projection({ a: "0", b: "0" }));
  let writing = true;
  const writer = (async () => {
    for (let version = 1; version <= 60; version++)
      await volume.write(projection({ a: `${version}`, b: `${version}` }));
    writing = false;
  })();
  let looks = 0;
  while (writing) {
    // A reader that wants both files of one version takes them from where ..data leads.
    const version = join(directory, await readlink(join(directory, "..data")));
    try {
      const [a, b] = await Promise.all(["a", "b"].map((name) => readFile(join(version, name), "utf8")));
      assert.equal(a, b);
      looks++;
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOENT");
    }
  }
  await writer;
  assert.ok(looks > 0);
});
