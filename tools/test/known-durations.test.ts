import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { keepDurations, longestFirst, MEASURED, readDurations } from "./known-durations.ts";

const root = dirname(dirname(import.meta.dirname));
const kube = (name: string) => `packages/kube/src/${name}.integration.test.ts`;

test("what took longest the last time begins first", () => {
  const [slow, short, shorter] = [kube("slow"), kube("short"), kube("shorter")];
  assert.deepEqual(longestFirst([shorter, short, slow], { [slow]: 90, [short]: 9, [shorter]: 5 }), [
    slow,
    short,
    shorter,
  ]);
});

test("files that share a process are known by the name that they have together", () => {
  const together = [kube("a"), kube("b")];
  assert.deepEqual(longestFirst([kube("c"), together], { "packages/kube: a, b": 5, [kube("c")]: 9 }), [
    kube("c"),
    together,
  ]);
});

test("of what nothing is known, what was measured once comes first, then beds, then several files, and no run is lost", () => {
  const [measured = ""] = Object.keys(MEASURED);
  const bed = "packages/testbed/src/new.integration.test.ts";
  const several = [kube("a"), kube("b")];
  assert.deepEqual(longestFirst([kube("c"), kube("b"), several, bed, measured], {}), [
    measured,
    bed,
    several,
    kube("c"),
    kube("b"),
  ]);
});

test("every file that was measured once is there", () => {
  assert.deepEqual(
    Object.keys(MEASURED).filter((file) => !existsSync(join(root, file))),
    [],
  );
});

test("durations of what passed are kept beside those of before, and a file that cannot be read is as none", () => {
  const folder = mkdtempSync(join(tmpdir(), "fjord-durations-"));
  try {
    const file = join(folder, "cache", "durations.json");
    assert.deepEqual(readDurations(file), {});
    keepDurations(file, [{ file: "a", seconds: 3.4, ok: true, counts: undefined }]);
    keepDurations(file, [
      { file: "a", seconds: 1, ok: false, counts: undefined },
      { file: "b", seconds: 8.6, ok: true, counts: undefined },
    ]);
    assert.deepEqual(readDurations(file), { a: 3, b: 9 });
    writeFileSync(file, "{");
    assert.deepEqual(readDurations(file), {});
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
