import assert from "node:assert/strict";
import { test } from "node:test";
import { END_FRAME, FrameReader, frameHeader } from "./frames.ts";

const framed = (...pieces: string[]) =>
  Buffer.concat(pieces.flatMap((piece) => [frameHeader(Buffer.byteLength(piece)), Buffer.from(piece)]));

test("whatever the chunks are, the bytes come as they were sent, and then the end", () => {
  const sent = Buffer.concat([framed("hello", " ", "world".repeat(50)), END_FRAME]);
  for (let size = 1; size <= sent.length; size++) {
    const reader = new FrameReader();
    const read: Buffer[] = [];
    for (let at = 0; at < sent.length; at += size) {
      assert.equal(reader.ended, false);
      read.push(...reader.read(sent.subarray(at, at + size)));
    }
    assert.equal(Buffer.concat(read).toString(), `hello ${"world".repeat(50)}`);
    assert.equal(reader.ended, true);
  }
});

test("what is no frame, or comes behind the end, is refused", () => {
  assert.throws(() => [...new FrameReader().read(Buffer.from("GET / HTTP/1.1"))], /longer/);
  assert.throws(() => [...new FrameReader().read(Buffer.concat([END_FRAME, framed("more")]))], /behind the end/);
});
