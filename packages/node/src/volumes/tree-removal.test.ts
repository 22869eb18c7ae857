import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { openDirectory, pathAt } from "./directory-handle.ts";
import { removeTree } from "./tree-removal.ts";

async function temporary(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "removal-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("links are removed, not what they lead to", async (t) => {
  const base = await temporary(t);
  await mkdir(join(base, "precious"));
  await writeFile(join(base, "precious/file"), "keep");
  const tree = join(base, "tree");
  await mkdir(join(tree, "inner"), { recursive: true });
  await symlink("../precious", join(tree, "link"));
  await symlink(join(base, "precious"), join(tree, "inner/link"));
  await symlink(join(base, "precious/file"), join(tree, "inner/file"));
  await symlink("nowhere", join(tree, "dangling"));
  await removeTree(tree);
  assert.deepEqual(await readdir(base), ["precious"]);
  assert.equal(await readFile(join(base, "precious/file"), "utf8"), "keep");

  await symlink("precious", join(base, "whole"));
  await removeTree(join(base, "whole"));
  assert.deepEqual(await readdir(join(base, "precious")), ["file"]);
});

test("what is not there, and plain files, are no trouble", async (t) => {
  const base = await temporary(t);
  await removeTree(join(base, "nothing"));
  await writeFile(join(base, "file"), "");
  await removeTree(join(base, "file"));
  assert.deepEqual(await readdir(base), []);
});

test("directories that their owner has locked are removed", async (t) => {
  const base = await temporary(t);
  const tree = join(base, "tree");
  await mkdir(join(tree, "a/b/c"), { recursive: true });
  await writeFile(join(tree, "a/b/c/file"), "");
  for (const path of ["a/b/c", "a/b", "a"]) await chmod(join(tree, path), 0);
  await removeTree(tree);
  assert.deepEqual(await readdir(base), []);
});

test("trees deeper than any path can be long are removed", async (t) => {
  const base = await temporary(t);
  const tree = join(base, "tree");
  await mkdir(tree);
  let directory = await openDirectory(tree);
  for (let depth = 0; depth < 400; depth++) {
    await mkdir(pathAt(directory, "a-rather-long-name"));
    if (depth % 100 === 0) await writeFile(pathAt(directory, ".removed-0"), "");
    const next = await openDirectory(pathAt(directory, "a-rather-long-name"));
    await directory.close();
    directory = next;
  }
  await directory.close();
  await removeTree(tree);
  await assert.rejects(stat(tree), { code: "ENOENT" });
});

test("trees of any shape are removed", async (t) => {
  const base = await temporary(t);
  const names = fc.constantFrom("a", "b", ".removed-0", ".removed-1", "c d");
  const paths = fc.array(fc.array(names, { minLength: 1, maxLength: 5 }), { maxLength: 25 });
  await fc.assert(
    fc.asyncProperty(paths, fc.boolean(), async (all, leafFiles) => {
      const tree = join(base, "tree");
      await mkdir(tree);
      for (const parts of all) {
        await mkdir(join(tree, ...parts.slice(0, -1)), { recursive: true }).catch(() => {});
        const leaf = join(tree, ...parts);
        await (leafFiles ? writeFile(leaf, "x") : mkdir(leaf)).catch(() => {});
      }
      await removeTree(tree);
      assert.deepEqual(await readdir(base), []);
    }),
    { numRuns: 60 },
  );
});
