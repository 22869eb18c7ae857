import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, mkdtemp, open, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import fc from "fast-check";
import { formatRecord, type LogRecord, parseRecord } from "./log-record.ts";
import { LogRotator } from "./log-rotator.ts";
import { type ReadLogOptions, readLog } from "./read-log.ts";

let directory: string;
let serial = 0;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "fjord-logs-"));
});
after(() => rm(directory, { recursive: true, force: true }));

const START = Date.UTC(2030, 0, 1);
const time = (n: number) => new Date(START + n * 1000).toISOString().replace("Z", "123456Z");

async function newLog(text = ""): Promise<string> {
  const path = join(await mkdtemp(join(directory, "container-")), `${serial++ % 3}.log`);
  await writeFile(path, text);
  return path;
}

async function read(path: string, options: ReadLogOptions = {}): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of await readLog(path, options)) parts.push(part);
  return Buffer.concat(parts).toString();
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => formatRecord(time(from + i), "stdout", false, `line ${from + i}`)).join(
    "",
  );
const shown = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join("");

test("records are read as runtimes write them", () => {
  const record = (text: string) => {
    const parsed = parseRecord(Buffer.from(text));
    return parsed && [String(parsed.time), parsed.stream, parsed.partial, String(parsed.content)];
  };
  const when = "2016-10-06T00:17:09.669794202Z";
  assert.deepEqual(record(`${when} stdout F a b`), [when, "stdout", false, "a b"]);
  assert.deepEqual(record(`${when} stderr P `), [when, "stderr", true, ""]);
  assert.deepEqual(record(`${when} stdout F`), [when, "stdout", false, ""]);
  assert.deepEqual(record(`${when} stdout F:x:y content`), [when, "stdout", false, "content"]);
  assert.deepEqual(record("2016-10-06T00:17:09.669794202+02:00 stdout F x")?.[3], "x");
  for (const text of [
    "",
    "x",
    when,
    `${when} stdin F x`,
    `${when} stdout X x`,
    `${when} stdout Fx`,
    "9794202Z stdout F x",
  ])
    assert.equal(record(text), undefined, text);
});

test("a log is shown with and without times, from a time on, and no more than asked for", async () => {
  const path = await newLog(lines(0, 5));
  assert.equal(await read(path), shown(0, 5));
  assert.equal(await read(path, { timestamps: true, tailLines: 1 }), `${time(4)} line 4\n`);
  assert.equal(await read(path, { since: START + 3000 }), shown(3, 5));
  assert.equal(await read(path, { limitBytes: 10 }), "line 0\nlin");
  assert.equal(await read(path, { tailLines: 0 }), "");
  assert.equal(await read(path, { tailLines: 99 }), shown(0, 5));
});

test("who does not follow a log sees no more lines than asked for while others are written", async () => {
  for (const tailLines of [4000, undefined]) {
    const path = await newLog(lines(0, 5000));
    const reading = await readLog(path, tailLines === undefined ? {} : { tailLines });
    const parts = [(await reading.next()).value ?? Buffer.alloc(0)];
    await appendFile(path, lines(5000, 5009));
    for await (const part of reading) parts.push(part);
    assert.ok(parts.length > 1, "it was read at once");
    assert.equal(Buffer.concat(parts).toString(), shown(5000 - (tailLines ?? 5000), 5000));
  }
});

test("streams are told apart", async () => {
  const path = await newLog(
    lines(0, 2) +
      formatRecord(time(2), "stderr", false, "oops") +
      lines(3, 4) +
      formatRecord(time(4), "stderr", false, "again"),
  );
  assert.equal(await read(path, { stream: "stderr" }), "oops\nagain\n");
  assert.equal(await read(path, { stream: "stdout", tailLines: 2 }), "line 1\nline 3\n");
});

test("lines that came in parts are whole again, whatever the other stream wrote meanwhile", async () => {
  const path = await newLog(
    formatRecord(time(0), "stdout", true, "one ") +
      formatRecord(time(1), "stderr", true, "other ") +
      formatRecord(time(2), "stdout", true, "long ") +
      formatRecord(time(3), "stderr", false, "stream") +
      formatRecord(time(4), "stdout", false, "line"),
  );
  assert.equal(await read(path), "one long line\nother stream\n");
  assert.equal(await read(path, { timestamps: true }), `${time(0)} one long line\n${time(1)} other stream\n`);
  assert.equal(await read(await newLog(formatRecord(time(0), "stdout", true, "no end"))), "no end");
});

test("the last lines are those that the whole ends with, however long and torn they are", async () => {
  const record = fc.record({
    stream: fc.constantFrom<LogRecord["stream"]>("stdout"),
    partial: fc.boolean(),
    content: fc
      .oneof(fc.string({ minLength: 1, maxLength: 30 }), fc.constant("x".repeat(70_000)))
      .map((text) => text.replaceAll("\n", " ")),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 12 }),
      fc.integer({ min: 0, max: 8 }),
      async (records, tailLines) => {
        const text = records.map((one, i) => formatRecord(time(i), one.stream, one.partial, one.content)).join("");
        const path = await newLog(text);
        const whole = await read(path);
        const expected = whole.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        assert.equal(await read(path, { tailLines }), tailLines === 0 ? "" : expected.slice(-tailLines).join(""));
      },
    ),
    { numRuns: 60 },
  );
});

test("a record longer than anyone keeps is shown all the same", async () => {
  const huge = "h".repeat(5_000_000);
  const path = await newLog(formatRecord(time(0), "stdout", false, huge) + lines(1, 2));
  const text = await read(path);
  assert.equal(text.length, huge.length + 1 + "line 1\n".length);
  assert.equal(text, `${huge}\nline 1\n`);
});

test("rubbish between records is left out", async () => {
  const path = await newLog(`torn\n${lines(0, 1)}\0\0\0\n${lines(1, 2)}`);
  assert.equal(await read(path), shown(0, 2));
});

test("files that were renamed are part of the log", async () => {
  const path = await newLog(lines(4, 6));
  await writeFile(`${path}.20300101-000002`, lines(2, 4));
  await writeFile(`${path}.20300101-000001`, lines(0, 2));
  await writeFile(`${path}.swp`, lines(90, 91));
  assert.equal(await read(path), shown(0, 6));
  assert.equal(await read(path, { tailLines: 3 }), shown(3, 6));
  assert.equal(await read(path, { tailLines: 5 }), shown(1, 6));
  await rm(path);
  assert.equal(await read(path, { tailLines: 1 }), shown(3, 4));
});

test("there is no log where there is no file", async () => {
  await assert.rejects(read(join(directory, "none", "0.log")), { code: "LOG_MISSING" });
});

test("no other file is read by way of a link in a log's place, and no pipe is waited for", async () => {
  const secret = await newLog(lines(0, 3));
  const path = await newLog();
  for (const replace of [() => symlink(secret, path), () => promisify(execFile)("mkfifo", [path])]) {
    await rm(path);
    await replace();
    for (const options of [{}, { tailLines: 1 }, { follow: true }]) {
      await assert.rejects(read(path, options), { code: "LOG_NOT_A_FILE" });
    }
  }
});

test("the end of a huge log is found without reading all of it", async () => {
  const path = await newLog();
  const file = await open(path, "w");
  const megabyte = lines(0, 20_000);
  for (let i = 0; i < 60; i++) await file.write(megabyte);
  await file.write(lines(20_000, 20_003));
  await file.close();
  const before = await bytesRead();
  assert.equal(await read(path, { tailLines: 2 }), shown(20_001, 20_003));
  const count = (await bytesRead()) - before;
  assert.ok(count < 5_000_000, `${count} bytes were read`);
});

/** By this process so far, of files and all else. */
async function bytesRead(): Promise<number> {
  return Number(/^rchar: (\d+)$/m.exec(await readFile("/proc/self/io", "utf8"))?.[1]);
}

/** Reads along, and lets a test wait for what it should see. */
function follow(path: string, options: ReadLogOptions = {}) {
  const ended = Promise.withResolvers<void>();
  let text = "";
  let wake = () => {};
  const done = (async () => {
    for await (const part of await readLog(path, { ...options, ended: ended.promise })) {
      text += part;
      wake();
    }
  })();
  return {
    end: ended.resolve,
    done,
    text: () => text,
    async sees(expected: string) {
      while (text !== expected) {
        assert.ok(expected.startsWith(text), `saw ${JSON.stringify(text.slice(-200))}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

test("a follower sees what is written, half a record only when it is whole, and ends with the container", async () => {
  const path = await newLog(lines(0, 3));
  const follower = follow(path, { tailLines: 1 });
  await follower.sees(shown(2, 3));
  const record = lines(3, 4);
  await appendFile(path, record.slice(0, 45));
  await appendFile(path, record.slice(45));
  await follower.sees(shown(2, 4));
  await appendFile(path, lines(4, 5));
  follower.end();
  await follower.done;
  assert.equal(follower.text(), shown(2, 5));
});

test("a follower that begins while a record is written misses nothing of it", async () => {
  const path = await newLog(lines(0, 2) + lines(2, 3).slice(0, -4));
  const follower = follow(path, { tailLines: 1 });
  await follower.sees(shown(1, 2));
  await appendFile(path, lines(2, 3).slice(-4));
  await follower.sees(shown(1, 3));
  follower.end();
  await follower.done;
});

test("a follower waits for a log that is not there yet", async () => {
  const path = await newLog();
  await rm(path);
  const follower = follow(path);
  await appendFile(path, lines(0, 1));
  await follower.sees(shown(0, 1));
  follower.end();
  await follower.done;
});

test("a follower ends when it is told to, and leaves nothing open", async () => {
  const abort = new AbortController();
  const path = await newLog(lines(0, 1));
  const follower = follow(path, { signal: abort.signal });
  await follower.sees(shown(0, 1));
  abort.abort();
  await follower.done;
});

test("no line is lost or shown twice while a log is written, rotated and followed", { timeout: 60_000 }, async () => {
  const path = await newLog();
  let file = await open(path, "a");
  let rotations = 0;
  const rotator = new LogRotator({
    logs: async () => [{ id: "c", file: path }],
    async reopen() {
      const old = file;
      file = await open(path, "a");
      await old.close();
      rotations++;
    },
    maxSize: 20_000,
    maxFiles: 1000,
    log: silentLogger,
  });
  const follower = follow(path);
  const { signal } = new AbortController();
  const total = 3000;
  for (let i = 0; i < total; i++) {
    await file.write(lines(i, i + 1));
    if (i % 100 === 0) await rotator.rotateAll(signal);
  }
  follower.end();
  await follower.done;
  assert.ok(rotations > 3, `${rotations} rotations`);
  assert.equal(follower.text(), shown(0, total));
  assert.equal(await read(path), shown(0, total));
  await file.close();
});

test("a rotator keeps so many files and no more, and finishes what a crash has left half done", async () => {
  const path = await newLog("x".repeat(100));
  const reopened: string[] = [];
  const rotator = new LogRotator({
    logs: async () => [{ id: "c", file: path }],
    async reopen(id) {
      reopened.push(id);
      await writeFile(path, "x".repeat(100));
    },
    maxSize: 100,
    maxFiles: 3,
    log: silentLogger,
  });
  const { signal } = new AbortController();
  for (let i = 0; i < 5; i++) {
    await rotator.rotateAll(signal);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.equal((await readdir(join(path, ".."))).length, 3);
  await rename(path, `${path}.20990101-000000`);
  await rotator.rotateAll(signal);
  assert.equal(reopened.length, 6);
});

test("files stay in order when the clock is put back, or stands still", async () => {
  const clock = new ManualClock();
  const path = await newLog(lines(0, 1));
  await writeFile(`${path}.20991231-235959`, "");
  let next = 1;
  const rotator = new LogRotator({
    logs: async () => [{ id: "c", file: path }],
    reopen: () => writeFile(path, lines(next, ++next)),
    maxSize: 1,
    maxFiles: 100,
    log: silentLogger,
    clock,
  });
  for (let i = 0; i < 3; i++) await rotator.rotateAll(new AbortController().signal);
  assert.equal((await readdir(join(path, ".."))).length, 5);
  assert.equal(await read(path), shown(0, 4));
});

test("where the writer cannot begin anew, the log keeps its name", async () => {
  const path = await newLog("x".repeat(100));
  const rotator = new LogRotator({
    logs: async () => [{ id: "c", file: path }],
    reopen: () => Promise.reject(new Error("the runtime does not answer")),
    maxSize: 100,
    log: silentLogger,
  });
  await rotator.rotateAll(new AbortController().signal);
  assert.deepEqual(await readdir(join(path, "..")), [path.split("/").at(-1)]);
});
