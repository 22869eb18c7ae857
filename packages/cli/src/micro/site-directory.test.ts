import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { openSiteDirectory, removeSiteDirectory, some } from "./site-directory.ts";

const SITE = [
  "kubernetes/state.db",
  "kubernetes/state.db-wal",
  "kubernetes/pki/ca.crt",
  "kubeconfig",
  "node.kubeconfig",
];

test("a site begins in a directory of its own, and goes on in it", async (t) => {
  const parent = folder(t);
  const directory = join(parent, "deep", "site");
  assert.equal(await openSiteDirectory(directory), join(parent, "deep"));
  assert.equal(await openSiteDirectory(directory), undefined, "an empty one is as good");
  fill(directory, "lost+found/lost", "kubernetes/pki/ca.crt");
  assert.equal(await openSiteDirectory(directory), undefined, "as is one whose start was cut off");
  fill(directory, ...SITE, "notes");
  assert.equal(await openSiteDirectory(directory), undefined, "what others put beside a site does not end it");
});

for (const [what, files] of [
  ["of anybody's files", ["f"]],
  ["with a kubeconfig that a site would write over", ["kubeconfig"]],
  ["with manifests", ["kubernetes/app.yaml"]],
  ["with a real cluster's settings", ["kubernetes/pki/ca.crt", "kubernetes/admin.conf"]],
] as const)
  test(`a directory ${what} is no place for a site, and nothing in it is removed`, async (t) => {
    const directory = folder(t);
    fill(directory, ...files);
    await assert.rejects(openSiteDirectory(directory), { code: "MICRO_NOT_EMPTY" });
    await assert.rejects(removeSiteDirectory(directory), { code: "MICRO_NOT_A_SITE" });
    for (const file of files) assert.equal(readFileSync(join(directory, file), "utf8"), file);
  });

test("a directory that cannot be made is told in words", async (t) => {
  const parent = folder(t);
  fill(parent, "file");
  const refusal = (reason: RegExp) => ({ code: "MICRO_INVALID_OPTION", message: reason });
  await assert.rejects(openSiteDirectory(join(parent, "file")), refusal(/^--state-dir cannot be .*: it is a file/));
  await assert.rejects(openSiteDirectory(join(parent, "file/x")), refusal(/a part of its path is a file/));
  // Nobody can make anything there, root neither.
  if (existsSync("/proc/self"))
    await assert.rejects(openSiteDirectory("/proc/foo/bar"), refusal(/nothing can be made there/));
});

test("what a site made is removed, and what others put beside it stays", async (t) => {
  const parent = folder(t);
  const directory = join(parent, "site");
  fill(directory, ...SITE);
  mkdirSync(join(directory, "node"));
  assert.deepEqual(await removeSiteDirectory(directory), []);
  assert.equal(existsSync(directory), false);
  fill(directory, ...SITE, "f", "node/f");
  assert.deepEqual((await removeSiteDirectory(directory)).toSorted(), ["f", "node"]);
  assert.deepEqual(readdirSync(directory, { recursive: true }).toSorted(), ["f", "node", "node/f"]);
});

test("a message names a few of many files", () => {
  assert.equal(some(["c", "b", "a"]), "a, b, c");
  assert.equal(some(["e", "d", "c", "b", "a"]), "a, b, c and 2 more");
});

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "fjord-site-directory-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function fill(directory: string, ...files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), file);
  }
}
