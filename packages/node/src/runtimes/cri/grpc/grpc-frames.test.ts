import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FrameReader, frame } from "./grpc-frames.ts";

test("messages arrive whole, however the bytes are cut", () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (given, cuts) => {
      const bytes = Buffer.concat(given.map(frame));
      const reader = new FrameReader(1000);
      const got: Buffer[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const next = at + (cuts[i % cuts.length] ?? 1);
        got.push(...reader.push(bytes.subarray(at, next)));
        at = next;
      }
      assert.deepEqual(
        got.map((each) => [...each]),
        given.map((each) => [...each]),
      );
      assert.equal(reader.isPartial, false);
    }),
  );
});

test("what is too long or compressed is refused", () => {
  assert.throws(() => new FrameReader(10).push(frame(new Uint8Array(11))), RangeError);
  assert.throws(() => new FrameReader(10).push(Buffer.from([1, 0, 0, 0, 0])), TypeError);
});

test("a message that has begun is told", () => {
  const reader = new FrameReader(10);
  reader.push(Buffer.from([0, 0]));
  assert.equal(reader.isPartial, true);
});
