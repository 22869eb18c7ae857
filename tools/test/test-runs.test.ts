import assert from "node:assert/strict";
import { test } from "node:test";
import { integrationRuns, nameOf, unitRuns } from "./test-runs.ts";

const plain = 'test("a", () => {});';

test("unit tests of one package share processes, evenly, and no file is lost", () => {
  const files = [
    ...Array.from({ length: 25 }, (_, i) => `packages/kube/src/${i}.test.ts`),
    "packages/base/src/a.test.ts",
    "tools/test/b.test.ts",
  ];
  const runs = unitRuns(files, () => plain);
  assert.deepEqual(
    runs.map((run) => run.length),
    [9, 8, 8, 1, 1],
  );
  assert.deepEqual(runs.flat().toSorted(), files.toSorted());
});

test("a file whose hooks would be for all, or that changes its process' folder, is run by itself", () => {
  const texts: Record<string, string> = {
    "packages/kube/src/hooked.test.ts": `import { afterEach, test } from "node:test";\nafterEach(() => {});\n${plain}`,
    "packages/kube/src/moved.test.ts": `process.chdir("/");\n${plain}`,
    "packages/kube/src/nested.test.ts": `describe("b", () => {\n  after(() => {});\n});`,
    "packages/kube/src/plain.test.ts": plain,
  };
  assert.deepEqual(
    unitRuns(Object.keys(texts), (file) => texts[file] ?? ""),
    [
      "packages/kube/src/hooked.test.ts",
      "packages/kube/src/moved.test.ts",
      ["packages/kube/src/nested.test.ts", "packages/kube/src/plain.test.ts"],
    ],
  );
});

test("files of a package that share a site are run together, the others by themselves", () => {
  const texts: Record<string, string> = {
    "packages/kube/src/a/a.integration.test.ts": "await sharedTestSite();",
    "packages/kube/src/b/b.integration.test.ts": "await startTestSite();",
    "packages/kube/src/c/c.integration.test.ts": "await sharedTestSite();",
    "packages/node/src/d.integration.test.ts": "await sharedTestSite();",
  };
  const runs = integrationRuns(Object.keys(texts), (file) => texts[file] ?? "");
  assert.deepEqual(runs.map(nameOf), [
    "packages/kube: a, c",
    "packages/node/src/d.integration.test.ts",
    "packages/kube/src/b/b.integration.test.ts",
  ]);
});
