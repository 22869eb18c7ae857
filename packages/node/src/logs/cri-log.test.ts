import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { countRaw, LogTime, toRecords } from "./cri-log.ts";

const output = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constant(Uint8Array.of(10)),
      fc.constant(new Uint8Array(20_000).fill(65)),
    ),
  )
  .map((parts) => Buffer.concat(parts));

describe("records of a log", () => {
  test("have time, stream, tag and line", () => {
    const { records, consumed } = toRecords(Buffer.from("one\n\nthree"), "stderr", () => "T");
    assert.equal(records.toString(), "T stderr F one\nT stderr F \n");
    assert.equal(consumed, 5);
    assert.equal(toRecords(Buffer.from("three"), "stdout", () => "T", true).records.toString(), "T stdout F three\n");
  });

  test("are parts where a line is too long", () => {
    const { records } = toRecords(Buffer.from(`${"x".repeat(40_000)}\n`), "stdout", () => "T");
    const tags = records.toString().trim().split("\n");
    assert.deepEqual(
      tags.map((line) => `${line.slice(9, 10)}${line.length - 11}`),
      ["P16384", "P16384", "F7232"],
    );
  });

  test("stand for exactly the output they were made of, wherever it is cut", () => {
    fc.assert(
      fc.property(output, fc.nat(), fc.boolean(), (raw, cut, ended) => {
        const at = raw.length === 0 ? 0 : cut % raw.length;
        const first = toRecords(raw.subarray(0, at), "stdout", () => "T");
        const second = toRecords(raw.subarray(first.consumed), "stdout", () => "T", ended);
        const { counts, whole } = countRaw(Buffer.concat([first.records, second.records]));
        const consumed = first.consumed + second.consumed;
        assert.equal(whole, first.records.length + second.records.length);
        assert.equal(counts.stderr, 0);
        // A last line without newline counts for one.
        const unfinished = ended && raw.length > 0 && raw.at(-1) !== 10 ? 1 : 0;
        assert.ok(counts.stdout === consumed || counts.stdout === consumed + unfinished);
        if (ended) assert.equal(consumed, raw.length);
      }),
    );
  });

  test("are dated in order, never twice the same", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4e12 }), { minLength: 2 }), (times) => {
        const time = new LogTime();
        const texts = times.map((each) => time.next(each));
        assert.deepEqual(texts, [...new Set(texts)].sort());
        for (const each of texts) assert.match(each, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
      }),
    );
  });
});
