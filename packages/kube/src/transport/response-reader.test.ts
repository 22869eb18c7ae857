import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { HttpHeaders, HttpMethod } from "./http.ts";
import { ResponseReader } from "./response-reader.ts";

interface Read {
  statusCode: number;
  headers: HttpHeaders;
  body: string;
  done: boolean;
  reusable: boolean;
  keepAliveSeconds: number | undefined;
}

function read(pieces: Iterable<Buffer>, method: HttpMethod = "GET", ended = false): Read {
  const seen = { statusCode: 0, headers: {} as HttpHeaders, chunks: [] as Buffer[], ends: 0 };
  const reader = new ResponseReader(method, {
    onHead(statusCode, headers) {
      assert.equal(seen.statusCode, 0, "one head");
      Object.assign(seen, { statusCode, headers });
    },
    onData(chunk) {
      assert.ok(chunk.length > 0 && seen.ends === 0);
      seen.chunks.push(chunk);
    },
    onEnd: () => void seen.ends++,
  });
  for (const piece of pieces) reader.push(piece);
  if (ended) reader.end();
  assert.equal(seen.ends, reader.done ? 1 : 0);
  const { done, reusable, keepAliveSeconds } = reader;
  const { statusCode, headers } = seen;
  return { statusCode, headers, body: Buffer.concat(seen.chunks).toString("latin1"), done, reusable, keepAliveSeconds };
}

const whole = (text: string, method?: HttpMethod, ended?: boolean) =>
  read([Buffer.from(text, "latin1")], method, ended);

test("reads a body by its length, in chunks, and to the connection's end", () => {
  const counted = whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5, max=9\r\n\r\n{}");
  assert.deepEqual([counted.body, counted.done, counted.reusable, counted.keepAliveSeconds], ["{}", true, true, 5]);
  const chunked = whole(
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\nA ; ext=1\r\n0123456789\r\n0\r\nx: y\r\n\r\n",
  );
  assert.deepEqual([chunked.body, chunked.done, chunked.reusable], ["{0123456789", true, true]);
  const open = "HTTP/1.0 200\r\n\r\nabc";
  assert.deepEqual([whole(open).done, whole(open, "GET", true).done], [false, true]);
  assert.equal(whole(open, "GET", true).reusable, false);
});

test("an answer that was cut short is not done", () => {
  for (const text of [
    "HTTP/1.1 200 OK\r\ncontent-le",
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
  ]) {
    assert.equal(whole(text, "GET", true).done, false, text);
  }
});

test("knows answers that have no body, and those that come before the answer", () => {
  assert.equal(whole("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", "HEAD").done, true);
  assert.equal(whole("HTTP/1.1 204 No Content\r\n\r\n").done, true);
  assert.equal(whole("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n").done, true);
  const early = whole("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n");
  assert.deepEqual([early.statusCode, early.headers, early.done], [201, { "content-length": "0" }, true]);
});

test("keeps each value of a header that comes several times, whatever its name", () => {
  const { headers } = whole(
    "HTTP/1.1 204 No\r\nWarning: a\r\nwarning:b \r\nWARNING:\tc\r\nconstructor: d\r\nEmpty:\r\n\r\n",
  );
  assert.deepEqual(headers, { warning: ["a", "b", "c"], constructor: "d", empty: "" });
});

test("lets no connection be used again whose server closes it or goes on", () => {
  const reusable = (text: string) => whole(text).reusable;
  assert.equal(reusable("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"), false);
  assert.equal(reusable("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"), false);
  assert.equal(reusable("HTTP/1.0 200 OK\r\ncontent-length: 0\r\nConnection: Keep-Alive\r\n\r\n"), true);
  assert.equal(reusable("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n"), false);
});

test("refuses what is not one plain answer", () => {
  const head = "HTTP/1.1 200 OK\r\n";
  for (const text of [
    "SSH-2.0-OpenSSH_9.6\r\n",
    "HTTP/2 200 OK\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    `${head}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
    `${head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`,
    `${head}content-length: -1\r\n\r\n`,
    `${head}content-length: 0x2\r\n\r\n`,
    `${head}content-length: ${"9".repeat(30)}\r\n\r\n`,
    `${head}transfer-encoding: gzip, chunked\r\n\r\n`,
    `${head}name : value\r\n\r\n`,
    `${head}a: b\r\n folded\r\n\r\n`,
    `${head}a: b\nc: d\r\n\r\n`,
    `${head}no colon\r\n\r\n`,
    `${head}a: \u0000\r\n\r\n`,
    `${head}transfer-encoding: chunked\r\n\r\nxyz\r\n`,
    `${head}transfer-encoding: chunked\r\n\r\n-1\r\n`,
    `${head}transfer-encoding: chunked\r\n\r\n2\n{}\n`,
    `${head}transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n`,
    `${head}transfer-encoding: chunked\r\n\r\n${"f".repeat(20)}\r\n`,
    `${head}transfer-encoding: chunked\r\n\r\n1;${"x".repeat(5000)}`,
    `${head}transfer-encoding: chunked\r\n\r\n0\r\n${`a: ${"b".repeat(100)}\r\n`.repeat(1000)}`,
    `${head}a: ${"b".repeat(70_000)}`,
  ]) {
    assert.throws(() => whole(text), /the answer is not HTTP/, text.slice(0, 80));
  }
});

test("gives the same however the bytes are cut", () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 5 });
  fc.assert(
    fc.property(
      bodies,
      fc.boolean(),
      fc.boolean(),
      fc.infiniteStream(fc.integer({ min: 1, max: 12 })),
      (parts, inChunks, hint, cuts) => {
        const body = Buffer.concat(parts);
        const frame = inChunks
          ? Buffer.concat([
              ...parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]),
              Buffer.from("0\r\n\r\n"),
            ])
          : body;
        const length = inChunks ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`;
        const early = hint ? "HTTP/1.1 100 Continue\r\n\r\n" : "";
        const bytes = Buffer.concat([Buffer.from(`${early}HTTP/1.1 200 OK\r\n${length}\r\n\r\n`), frame]);
        const pieces: Buffer[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = cuts.next().value as number;
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        const answer = read(pieces);
        assert.deepEqual([answer.statusCode, answer.done, answer.reusable], [200, true, true]);
        assert.equal(answer.body, body.toString("latin1"));
        assert.deepEqual(answer, read([bytes]));
      },
    ),
  );
});
