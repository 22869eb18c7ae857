import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LineSplitter } from "./line-splitter.ts";

test("gives the same lines however the bytes are cut, within characters too", () => {
  const line = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\n"));
  fc.assert(
    fc.property(fc.array(line), fc.infiniteStream(fc.integer({ min: 1, max: 7 })), (texts, cuts) => {
      const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(""));
      const splitter = new LineSplitter();
      const lines: string[] = [];
      for (let start = 0; start < bytes.length; ) {
        const end = start + (cuts.next().value as number);
        lines.push(...splitter.push(bytes.subarray(start, end)).map(String));
        start = end;
      }
      assert.deepEqual(
        lines,
        texts.filter((text) => text !== ""),
      );
      assert.equal(splitter.pending, 0);
    }),
  );
});

test("tells of a line that has not ended", () => {
  const splitter = new LineSplitter();
  assert.deepEqual(splitter.push(Buffer.from("one\ntw")).map(String), ["one"]);
  assert.equal(splitter.pending, 2);
  assert.deepEqual(splitter.push(Buffer.from("o\n")).map(String), ["two"]);
  assert.equal(splitter.pending, 0);
});
