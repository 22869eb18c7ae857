import assert from "node:assert/strict";
import { test } from "node:test";
import { constants, createDeflate, inflateSync } from "node:zlib";
import fc from "fast-check";
import { DICTIONARY_ID, headerDictionary } from "./dictionary.ts";
import { FrameSplitter, isData, type Piece } from "./frame-splitter.ts";
import { decodeSettings, encodeControl, encodeDataHeader, encodeSettings, frameType, numbers } from "./frames.ts";
import { HeaderDeflater, HeaderInflater } from "./header-compression.ts";
import { decodeHeaders, encodeHeaders } from "./headers.ts";

const headers = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 20 }).map((name) => `h${name.toLowerCase()}`),
  fc.string({ maxLength: 60, unit: "binary" }),
);

test("the dictionary is the one that the specification names by its checksum", () => {
  assert.equal(headerDictionary().length, 1423);
  assert.equal(adler32(headerDictionary()), DICTIONARY_ID);
});

test("names and values survive a block of headers", () => {
  fc.assert(
    fc.property(headers, (given) => {
      assert.deepEqual({ ...decodeHeaders(encodeHeaders(given)) }, { ...given });
    }),
  );
});

test("blocks of headers that lie about their lengths are refused", () => {
  for (const block of [
    Buffer.alloc(0),
    numbers(1),
    numbers(0xffffffff),
    numbers(1, 0xffffffff),
    Buffer.concat([numbers(1, 1), Buffer.from("A"), numbers(0)]),
    Buffer.concat([numbers(1, 0, 0)]),
    Buffer.concat([numbers(2, 1), Buffer.from("a"), numbers(0, 1), Buffer.from("a"), numbers(0)]),
    Buffer.concat([numbers(0), Buffer.from("rest")]),
  ]) {
    assert.throws(() => decodeHeaders(block), { code: "SPDY_PROTOCOL" });
  }
});

test("what our half compresses, any zlib reads", () => {
  const deflater = new HeaderDeflater();
  const blocks = [encodeHeaders({ streamtype: "stdin" }), encodeHeaders({ x: "y".repeat(70_000) })];
  const stream = Buffer.concat(blocks.map((block) => deflater.deflate(block)));
  const options = { dictionary: headerDictionary(), finishFlush: constants.Z_SYNC_FLUSH };
  assert.deepEqual(inflateSync(stream, options), Buffer.concat(blocks));
});

test("our half reads what a compressor with the dictionary makes, block by block", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(headers, { minLength: 1, maxLength: 5 }), async (given) => {
      const deflate = createDeflate({ dictionary: headerDictionary(), level: 9 });
      const inflater = new HeaderInflater(65536);
      for (const one of given) {
        const block = encodeHeaders(one);
        const parts: Buffer[] = [];
        deflate.removeAllListeners("data").on("data", (part: Buffer) => parts.push(part));
        await new Promise<void>((resolve) => {
          deflate.write(block);
          deflate.flush(constants.Z_SYNC_FLUSH, () => resolve());
        });
        await new Promise((resolve) => setImmediate(resolve));
        assert.deepEqual(await inflater.inflate(Buffer.concat(parts)), block);
      }
      inflater.close();
      deflate.destroy();
    }),
    { numRuns: 30 },
  );
});

test("headers that grow without end when decompressed are refused", async () => {
  const deflate = createDeflate({ dictionary: headerDictionary() });
  const parts: Buffer[] = [];
  deflate.on("data", (part: Buffer) => parts.push(part));
  deflate.write(Buffer.alloc(50_000_000));
  await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, () => setImmediate(resolve)));
  const inflater = new HeaderInflater(65536);
  await assert.rejects(inflater.inflate(Buffer.concat(parts)), { code: "SPDY_PROTOCOL" });
  await assert.rejects(inflater.inflate(Buffer.alloc(3)), { code: "SPDY_PROTOCOL" });
});

test("rubbish instead of compressed headers is refused", async () => {
  await assert.rejects(new HeaderInflater(65536).inflate(Buffer.from("no zlib")), { code: "SPDY_PROTOCOL" });
});

test("frames are found however the bytes were cut", () => {
  const frame = fc.oneof(
    fc.record({
      type: fc.integer({ min: 1, max: 20 }),
      flags: fc.nat(255),
      payload: fc.uint8Array({ maxLength: 300 }),
    }),
    fc.record({
      stream: fc.integer({ min: 1, max: 0x7fffffff }),
      data: fc.uint8Array({ maxLength: 300 }),
      fin: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
      (frames, cuts) => {
        const bytes = Buffer.concat(
          frames.map((one) =>
            "data" in one
              ? Buffer.concat([encodeDataHeader(one.stream, one.data.length, one.fin), one.data])
              : encodeControl(one.type, one.flags, Buffer.from(one.payload)),
          ),
        );
        const splitter = new FrameSplitter(65536);
        const pieces: Piece[] = [];
        for (let start = 0, turn = 0; start < bytes.length; ) {
          const size = cuts[turn++ % cuts.length] ?? 1;
          pieces.push(...splitter.push(bytes.subarray(start, start + size)));
          start += size;
        }
        assert.deepEqual(
          joined(pieces),
          joined(
            frames.map((one) =>
              "data" in one ? { ...one, data: Buffer.from(one.data) } : { ...one, payload: Buffer.from(one.payload) },
            ),
          ),
        );
      },
    ),
  );
});

test("a control frame beyond the limit, another version and data for no stream are refused", () => {
  const header = (text: string) => Buffer.from(text, "hex");
  for (const bytes of ["8003000100ffffff", "8002000100000000", "0000000000000001"]) {
    assert.throws(() => [...new FrameSplitter(65536).push(header(bytes))], { code: "SPDY_PROTOCOL" });
  }
});

test("a SETTINGS frame has the bytes that the specification draws", () => {
  const bytes = encodeSettings(new Map([[7, 65536]]));
  assert.equal(bytes.toString("hex"), "800300040000000c000000010000000700010000");
  const [frame] = new FrameSplitter(100).push(bytes);
  assert.ok(frame !== undefined && !isData(frame) && frame.type === frameType.settings);
  assert.deepEqual([...decodeSettings(frame)], [[7, 65536]]);
  assert.throws(() => decodeSettings({ ...frame, payload: numbers(0xffffffff) }), { code: "SPDY_PROTOCOL" });
});

/** The bytes and the end of each stream, and all else in order: where data was cut does not matter. */
function joined(pieces: readonly Piece[]): string[] {
  const texts: string[] = [];
  let open: { stream: number; hex: string } | undefined;
  for (const piece of pieces) {
    if (!isData(piece)) {
      if (open) texts.push(`${open.stream}:${open.hex}`);
      open = undefined;
      texts.push(`control ${piece.type} ${piece.flags} ${piece.payload.toString("hex")}`);
      continue;
    }
    if (open !== undefined && open.stream !== piece.stream) {
      texts.push(`${open.stream}:${open.hex}`);
      open = undefined;
    }
    open = { stream: piece.stream, hex: (open?.hex ?? "") + piece.data.toString("hex") + (piece.fin ? "|" : "") };
  }
  if (open) texts.push(`${open.stream}:${open.hex}`);
  return texts;
}

function adler32(bytes: Buffer): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b * 65536 + a;
}
