import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { borderExplanations } from "./border-explanations.ts";
import { explain } from "./explanations.ts";

test("a spec has the first explanation that is about it, and none where none is", () => {
  const explanations = [
    { specs: /node lease/, why: "it asks for the lease of a kubelet" },
    { specs: /node/, why: "it asks about the node itself" },
  ];
  assert.deepEqual(explain(["a node lease", "a node", "a pod"], explanations), [
    { spec: "a node lease", why: "it asks for the lease of a kubelet" },
    { spec: "a node", why: "it asks about the node itself" },
    { spec: "a pod" },
  ]);
});

test("every explanation of the border is about specs that passed on a plain site", async () => {
  const file = new URL("../../../../docs/conformance/offload-kubelet.json", import.meta.url);
  const { passed } = JSON.parse(await readFile(file, "utf8")) as { passed: string[] };
  for (const { specs } of borderExplanations)
    assert.ok(
      passed.some((name) => specs.test(name)),
      `${specs}`,
    );
});
