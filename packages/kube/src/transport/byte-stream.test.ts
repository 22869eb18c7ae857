import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import fc from "fast-check";
import { ByteStream } from "./byte-stream.ts";

function setUp(idleTimeoutMs?: number, heldBytes?: number) {
  const calls: string[] = [];
  const clock = new ManualClock();
  const source = {
    pause: () => void calls.push("pause"),
    resume: () => void calls.push("resume"),
    cancel: () => void calls.push("cancel"),
  };
  const held = heldBytes === undefined ? {} : { heldBytes };
  const stream = new ByteStream({ source, clock, idleTimeoutMs, ...held, idleError: (ms) => new Error(`idle ${ms}`) });
  return { stream, calls, clock };
}

async function readAll(stream: ByteStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += chunk.toString("latin1");
  return text;
}

test("gives every byte in order, however pushing and reading interleave", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.string({ minLength: 1 }), fc.constant(null))), async (steps) => {
      const { stream } = setUp();
      let read = "";
      const expected = steps.filter((step) => step !== null).join("");
      const reads: Promise<void>[] = [];
      let reading = Promise.resolve();
      for (const step of steps) {
        if (step === null) {
          reading = reading.then(async () => {
            const { value } = await stream.next();
            if (value !== undefined) read += value.toString();
          });
          reads.push(reading);
        } else stream.push(Buffer.from(step));
        await Promise.resolve();
      }
      stream.end();
      await Promise.all(reads);
      for await (const chunk of stream) read += chunk.toString();
      assert.equal(read, expected);
    }),
  );
});

test("pauses its source while too much is unread, and resumes when that was read", async () => {
  const { stream, calls } = setUp();
  const chunk = Buffer.alloc(300 * 1024);
  for (let i = 0; i < 5; i++) stream.push(chunk);
  assert.deepEqual(calls, ["pause"]);
  for (let i = 0; i < 5; i++) await stream.next();
  assert.deepEqual(calls, ["pause", "resume"]);
});

test("holds as little as it is told to", async () => {
  const { stream, calls } = setUp(undefined, 10_000);
  stream.push(Buffer.alloc(9_000));
  assert.deepEqual(calls, []);
  stream.push(Buffer.alloc(2_000));
  assert.deepEqual(calls, ["pause"]);
  await stream.next();
  assert.deepEqual(calls, ["pause", "resume"]);
});

test("fails after what was received before the failure", async () => {
  const { stream } = setUp();
  stream.push(Buffer.from("a"));
  stream.fail(new Error("reset"));
  assert.equal((await stream.next()).value?.toString(), "a");
  await assert.rejects(stream.next(), /reset/);
  assert.equal((await stream.next()).done, true);
});

test("gives nothing more once it was aborted", async () => {
  const { stream, calls } = setUp();
  stream.push(Buffer.from("a"));
  stream.abort(new Error("enough"));
  await assert.rejects(stream.next(), /enough/);
  assert.deepEqual(calls, ["cancel"]);
});

test("ends its source when the reader leaves early, and not when it reads to the end", async () => {
  const left = setUp();
  left.stream.push(Buffer.from("a"));
  for await (const _ of left.stream) break;
  assert.deepEqual(left.calls, ["cancel"]);
  const whole = setUp();
  whole.stream.push(Buffer.from("a"));
  whole.stream.end();
  assert.equal(await readAll(whole.stream), "a");
  assert.deepEqual(whole.calls, []);
});

test("counts as idle only when nothing came for the whole time", async () => {
  const { stream, clock, calls } = setUp(1_000);
  for (let i = 0; i < 5; i++) {
    await clock.advance(900);
    stream.push(Buffer.from("a"));
    await stream.next();
  }
  const next = stream.next();
  const failed = assert.rejects(next, /idle 1000/);
  await clock.advance(999);
  assert.deepEqual(calls, []);
  await clock.advance(1);
  await failed;
  assert.deepEqual(calls, ["cancel"]);
  assert.equal(clock.pending, 0);
});

test("a source that it paused itself is not idle", async () => {
  const { stream, clock, calls } = setUp(1_000);
  stream.push(Buffer.alloc(2 * 1024 * 1024));
  await clock.advance(10_000);
  assert.deepEqual(calls, ["pause"]);
  assert.equal((await stream.next()).value?.length, 2 * 1024 * 1024);
});
