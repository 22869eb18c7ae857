import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerReader } from "./answer-reader.ts";

const answers = [
  { status: 201, bytes: 5, text: "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nA: b\r\n\r\nhello" },
  { status: 200, bytes: 0, text: "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" },
  {
    status: 200,
    bytes: 21,
    text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\r\n\r\n\r\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
  },
  {
    status: 404,
    bytes: 2,
    text: "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nT: x\r\n\r\n",
  },
];

test("answers end where they end, however they are cut into pieces", () => {
  for (let size = 1; size <= 120; size++) {
    const reader = new AnswerReader();
    for (const { status, bytes, text } of [...answers, ...answers.toReversed()]) {
      const before = reader.bytes;
      const read = cut(Buffer.from(text), size).map((piece) => reader.read(piece));
      assert.equal(read.pop(), status);
      assert.ok(read.every((each) => each === undefined));
      assert.equal(reader.bytes - before, bytes);
    }
  }
});

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}
