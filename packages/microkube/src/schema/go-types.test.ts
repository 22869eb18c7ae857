import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { dataFile } from "../data-file.ts";

/** Go's structs without fields, of which there is nothing to say. */
const EMPTY = ["apiextensions.v1.CustomResourceSubresourceStatus"];

test("every type that a field has is known", () => {
  const lines = gunzipSync(readFileSync(dataFile("types.gz")))
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t") as [string, string]);
  const known = new Set([...lines.map(([name]) => name), ...EMPTY]);
  const named = lines.flatMap(([, text]) => {
    const type = JSON.parse(text) as string | [string, string, number][];
    return typeof type === "string" ? [type] : type.map(([, one]) => one);
  });
  const names = named.flatMap((type) => type.split(/[*[\]]/)).filter((name) => name.includes("."));
  assert.deepEqual([...new Set(names.filter((name) => !known.has(name)))], []);
});
