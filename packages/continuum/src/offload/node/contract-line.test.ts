import assert from "node:assert/strict";
import { test } from "node:test";
import type { Contract } from "@fjord/api";
import { newestOf } from "./contract-line.ts";
import { contractOf } from "./test-objects.ts";

const line = (next: Record<string, string | undefined>) => (name: string) =>
  name in next ? ({ ...contractOf({ supersededBy: next[name] }), metadata: { name } } as Contract) : undefined;

test("a contract that was renewed or resized stands for the newest of its line", () => {
  const get = line({ a: "b", b: "c", c: undefined });
  for (const name of ["a", "b", "c"]) assert.equal(newestOf(name, get)?.metadata.name, "c");
  assert.equal(newestOf("x", get), undefined);
});

test("a successor that is not there yet leaves the old one, and a circle ends", () => {
  assert.equal(newestOf("a", line({ a: "b" }))?.metadata.name, "a");
  assert.ok(newestOf("a", line({ a: "b", b: "a" })));
});
