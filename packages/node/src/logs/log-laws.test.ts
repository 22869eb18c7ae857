import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { LineJoiner } from "./line-joiner.ts";
import { formatRecord, type LogRecord } from "./log-record.ts";
import { readLog } from "./read-log.ts";
import { RecordSplitter } from "./record-splitter.ts";

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "fjord-log-laws-"));
});
after(() => rm(directory, { recursive: true, force: true }));

const TIME = "2030-01-01T00:00:00.000000000Z";
const record = fc.record({
  stream: fc.constantFrom<LogRecord["stream"]>("stdout", "stderr"),
  partial: fc.boolean(),
  content: fc.string({ unit: "grapheme", maxLength: 40 }).map((text) => text.replaceAll("\n", " ")),
});
const records = fc.array(record, { maxLength: 25 });
const format = (one: { stream: LogRecord["stream"]; partial: boolean; content: string }) =>
  formatRecord(TIME, one.stream, one.partial, one.content);

test("no line is torn, lost or moved within its stream", () => {
  fc.assert(
    fc.property(records, (given) => {
      // Both streams end with a whole line.
      const all = [
        ...given,
        ...(["stdout", "stderr"] as const).map((stream) => ({ stream, partial: false, content: "." })),
      ];
      const joiner = new LineJoiner(false);
      const output = all.flatMap((one) =>
        joiner.push({ ...one, time: Buffer.from(TIME), content: Buffer.from(`${one.stream}|${one.content}`) }),
      );
      assert.equal(joiner.flush().length, 0);
      const lines = Buffer.concat(output).toString().split("\n").slice(0, -1);
      for (const stream of ["stdout", "stderr"]) {
        const expected: string[] = [""];
        for (const one of all.filter((each) => each.stream === stream)) {
          expected[expected.length - 1] += `${stream}|${one.content}`;
          if (!one.partial) expected.push("");
        }
        assert.deepEqual(
          lines.filter((line) => line.startsWith(`${stream}|`)),
          expected.slice(0, -1),
        );
      }
    }),
  );
});

test("records are the same however they are read", () => {
  fc.assert(
    fc.property(records, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (given, cuts) => {
      const bytes = Buffer.from(given.map(format).join(""));
      const splitter = new RecordSplitter();
      const found: string[] = [];
      for (let start = 0, turn = 0; start < bytes.length; turn++) {
        const end = start + (cuts[turn % cuts.length] ?? 1);
        for (const one of splitter.push(bytes.subarray(start, end)))
          found.push(format({ ...one, content: String(one.content) }));
        start = end;
      }
      assert.deepEqual(found, given.map(format));
    }),
  );
});

test("a follower sees what a late reader sees, however the log was written", async () => {
  await fc.assert(
    fc.asyncProperty(records, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), async (given, cuts) => {
      const path = join(await mkdtemp(join(directory, "c-")), "0.log");
      const bytes = Buffer.from(given.map((one) => format({ ...one, stream: "stdout" })).join(""));
      await writeFile(path, "");
      const ended = Promise.withResolvers<void>();
      const follower = (async () => {
        let text = "";
        for await (const part of await readLog(path, { ended: ended.promise })) text += part.toString("latin1");
        return text;
      })();
      for (let start = 0, turn = 0; start < bytes.length; turn++) {
        const end = start + (cuts[turn % cuts.length] ?? 1);
        await appendFile(path, bytes.subarray(start, end));
        start = end;
      }
      ended.resolve();
      let whole = "";
      for await (const part of await readLog(path)) whole += part.toString("latin1");
      assert.equal(await follower, whole);
    }),
    { numRuns: 40 },
  );
});
