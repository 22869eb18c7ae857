import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { der, pem } from "./der.ts";
import { readDer, unpem } from "./der-reader.ts";

test("lengths, numbers and identifiers are written as they have to be", () => {
  assert.equal(der.octets(Buffer.alloc(127)).subarray(0, 2).toString("hex"), "047f");
  assert.equal(der.octets(Buffer.alloc(128)).subarray(0, 3).toString("hex"), "048180");
  assert.equal(der.octets(Buffer.alloc(300)).subarray(0, 4).toString("hex"), "0482012c");
  assert.equal(der.integer(Buffer.from([0x80])).toString("hex"), "02020080");
  assert.equal(der.integer(Buffer.from([0, 0, 1])).toString("hex"), "020101");
  assert.equal(der.objectId("1.2.840.113549").toString("hex"), "06062a864886f70d");
});

test("what is written is read back", () => {
  const bytes = fc.uint8Array({ maxLength: 300 });
  const property = fc.property(bytes, fc.string(), fc.array(fc.nat(2 ** 31 - 1)), (content, text, numbers) => {
    const oid = [1, 3, ...numbers].join(".");
    const [octets, words, id, bits] = readDer(
      der.sequence(der.octets(content), der.utf8(text), der.objectId(oid), der.bits(content)),
    ).children;
    assert.deepEqual(new Uint8Array(octets?.content ?? []), content);
    assert.equal(words?.text, Buffer.from(text).toString());
    assert.equal(id?.objectId, oid);
    assert.deepEqual(new Uint8Array(bits?.bits ?? []), content);
  });
  fc.assert(property);
});

test("whatever is no DER is refused, and nothing else happens", () => {
  const whole = der.sequence(der.octets(Buffer.alloc(200)), der.utf8("x"));
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => readDer(whole.subarray(0, length)), { code: "MALFORMED_DER" });
  }
  assert.throws(() => readDer(Buffer.concat([whole, Buffer.from([0])])), { code: "MALFORMED_DER" });
  assert.throws(() => readDer(Buffer.from([0x30, 0x80, 0, 0])), { code: "MALFORMED_DER" });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        for (const value of readDer(bytes).children) void value.children;
      } catch (error) {
        assert.equal((error as { code?: string }).code, "MALFORMED_DER");
      }
    }),
  );
});

test("a PEM block is found among others", () => {
  const text = `intro\n${pem("A", Buffer.from("one"))}${pem("B", Buffer.alloc(100, 7))}`;
  assert.equal(unpem("A", text)?.toString(), "one");
  assert.deepEqual(unpem("B", text), Buffer.alloc(100, 7));
  assert.equal(unpem("C", text), undefined);
  assert.equal(unpem("A", "-----BEGIN A-----\nabc"), undefined);
});
