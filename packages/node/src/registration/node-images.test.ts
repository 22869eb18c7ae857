import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeImages } from "./node-images.ts";

function image(id: string, size: number, tags: string[] = [`${id}:1`]) {
  return { id, size, tags, digests: [`${id}@sha256:0`], pinned: false };
}

test("a node names its largest images, always in the same order", () => {
  assert.deepEqual(nodeImages([image("b", 1), image("c", 5), image("a", 1)]), [
    { names: ["c@sha256:0", "c:1"], sizeBytes: 5 },
    { names: ["a@sha256:0", "a:1"], sizeBytes: 1 },
    { names: ["b@sha256:0", "b:1"], sizeBytes: 1 },
  ]);
});

test("neither images nor their names are without end, and those without a name are left out", () => {
  const many = Array.from({ length: 80 }, (_, i) =>
    image(
      `i${i}`,
      i,
      Array.from({ length: 9 }, (_, j) => `t:${j}`),
    ),
  );
  const named = nodeImages(many);
  assert.equal(named.length, 50);
  assert.ok(named.every(({ names }) => names?.length === 5));
  assert.deepEqual(nodeImages([{ id: "x", size: 1, tags: [], digests: [], pinned: false }]), []);
});
