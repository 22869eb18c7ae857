import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decode, ListDecoder } from "./decode.ts";
import { encode } from "./encode.ts";
import { schema } from "./message.ts";

interface Sample {
  text: string;
  bytes: Uint8Array;
  flag: boolean;
  small: number;
  natural: number;
  large: bigint;
  huge: bigint;
  kind: number;
  numbers: bigint[];
  names: string[];
  labels: { [key: string]: string };
  inner?: Inner;
  inners: Inner[];
}

interface Inner {
  name: string;
}

const Inner = schema<Inner>(() => [["name", 1, "string"]]);
const Sample = schema<Sample>(() => [
  ["text", 1, "string"],
  ["bytes", 2, "bytes"],
  ["flag", 3, "bool"],
  ["small", 4, "int32"],
  ["natural", 5, "uint32"],
  ["large", 6, "int64"],
  ["huge", 7, "uint64"],
  ["kind", 8, "enum"],
  ["numbers", 9, ["int64"]],
  ["names", 10, ["string"]],
  ["labels", 11, "map"],
  ["inner", 12, Inner],
  ["inners", 300, [Inner]],
]);

const inner = fc.record({ name: fc.string({ unit: "binary" }) }, { noNullPrototype: true });
const sample = fc.record(
  {
    text: fc.string({ unit: "binary" }),
    bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    flag: fc.boolean(),
    small: fc.integer(),
    natural: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    large: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    huge: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    kind: fc.nat(100),
    numbers: fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    names: fc.array(fc.string()),
    labels: fc
      .dictionary(fc.string(), fc.string(), { noNullPrototype: true })
      .filter((map) => !Object.hasOwn(map, "__proto__")),
    inner,
    inners: fc.array(inner),
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      "text",
      "bytes",
      "flag",
      "small",
      "natural",
      "large",
      "huge",
      "kind",
      "numbers",
      "names",
      "labels",
      "inners",
    ],
  },
);

test("a message comes back as it went", () => {
  fc.assert(fc.property(sample, (given) => assert.deepEqual(decode(Sample, encode(Sample, given)), given)));
});

test("whatever bytes come, they are a message or an error, soon", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        decode(Sample, bytes);
      } catch (error) {
        assert.ok(error instanceof RangeError || error instanceof TypeError, String(error));
      }
    }),
  );
});

test("what is left out has its default, and takes no bytes", () => {
  assert.equal(encode(Sample, {}).length, 0);
  assert.equal(encode(Sample, { text: "", small: 0, large: 0n, flag: false, names: [], labels: {} }).length, 0);
  const empty = decode(Sample, new Uint8Array());
  assert.equal(empty.text, "");
  assert.equal(empty.large, 0n);
  assert.deepEqual(empty.inners, []);
  assert.equal(empty.inner, undefined);
});

test("the bytes are those that Protocol Buffers' own documents give", () => {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  assert.equal(
    hex(
      encode(
        schema<{ a: number }>(() => [["a", 1, "int32"]]),
        { a: 150 },
      ),
    ),
    "089601",
  );
  assert.equal(
    hex(
      encode(
        schema<{ b: string }>(() => [["b", 2, "string"]]),
        { b: "testing" },
      ),
    ),
    "120774657374696e67",
  );
  const packed = schema<{ f: number[] }>(() => [["f", 6, ["int32"]]]);
  assert.equal(hex(encode(packed, { f: [3, 270, 86_942] })), "3206038e029ea705");
  assert.equal(
    hex(
      encode(
        schema<{ a: number }>(() => [["a", 1, "int32"]]),
        { a: -2 },
      ),
    ),
    "08feffffffffffffffff01",
  );
});

test("numbers are read one by one too, and fields that nobody knows are skipped", () => {
  const numbers = schema<{ n: number[] }>(() => [["n", 1, ["int32"]]]);
  assert.deepEqual(decode(numbers, Buffer.from("080108020a020304", "hex")).n, [1, 2, 3, 4]);
  const unknown = Buffer.from("10ffffffffffffffffff01190000000000000000250000000032026869", "hex");
  assert.deepEqual(decode(numbers, Buffer.concat([unknown, Buffer.from("0807", "hex")])).n, [7]);
});

test("a list that is read again has the same items where they are as they were, and others where not", () => {
  const List = schema<{ items: Inner[]; other: string }>(() => [
    ["items", 1, [Inner]],
    ["other", 2, "string"],
  ]);
  const decoder = new ListDecoder(Inner);
  const read = (names: string[]) =>
    decoder.decode(encode(List, { items: names.map((name) => ({ name })), other: "skipped" }));
  const [a, b] = read(["a", "bé"]);
  assert.deepEqual([a, b], [{ name: "a" }, { name: "bé" }]);
  const again = read(["c", "bé", "", "a"]);
  assert.deepEqual(again, [{ name: "c" }, { name: "bé" }, { name: "" }, { name: "a" }]);
  assert.equal(again[1], b);
  assert.equal(again[3], a);
  assert.deepEqual(read([]), []);
  assert.notEqual(read(["a"])[0], a, "what is no longer listed is forgotten");
  assert.throws(() => decoder.decode(Uint8Array.of(10, 5, 1)), /ends in the middle/);
});
