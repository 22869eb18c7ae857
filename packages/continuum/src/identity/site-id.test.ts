import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { base32 } from "./base32.ts";
import { isSiteId, siteIdOf } from "./site-id.ts";
import { SiteKey } from "./site-key.ts";

test("base32 is that of RFC 4648, in lower case and without padding", () => {
  const vectors = {
    "": "",
    f: "my",
    fo: "mzxq",
    foo: "mzxw6",
    foob: "mzxw6yq",
    fooba: "mzxw6ytb",
    foobar: "mzxw6ytboi",
  };
  for (const [text, expected] of Object.entries(vectors)) assert.equal(base32(Buffer.from(text)), expected);
});

test("base32 holds all bits and nothing else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
      const text = base32(bytes);
      const read = [...text].map((each) =>
        "abcdefghijklmnopqrstuvwxyz234567".indexOf(each).toString(2).padStart(5, "0"),
      );
      assert.equal(read.join("").slice(0, bits.length), bits);
      assert.match(read.join("").slice(bits.length), /^0{0,4}$/);
    }),
  );
});

test("an id is made of the public key alone, and looks as the API wants it", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat({ max: 255 }), (key, bit) => {
      assert.ok(isSiteId(siteIdOf(key)));
      assert.equal(siteIdOf(key), siteIdOf(Buffer.from(key)));
      const other = Uint8Array.from(key);
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.notEqual(siteIdOf(other), siteIdOf(key));
    }),
  );
});

test("an id stays what it is: it names sites for ever", () => {
  assert.equal(siteIdOf(new Uint8Array(32)), "mzuhvlpymk6xo3epygfy5h4oea");
});

test("what is no id is none", () => {
  for (const value of [
    undefined,
    7,
    "",
    "a".repeat(25),
    "a".repeat(27),
    "A".repeat(26),
    "0".repeat(26),
    `${"a".repeat(26)}\n`,
  ]) {
    assert.equal(isSiteId(value), false, String(value));
  }
});

test("a key written and read again is the same site", async () => {
  const key = await SiteKey.generate();
  const again = SiteKey.fromPem(key.toPem(), "test");
  assert.deepEqual([again.id, again.publicKey], [key.id, key.publicKey]);
  assert.equal(siteIdOf(Buffer.from(key.publicKey, "base64")), key.id);
  assert.notEqual((await SiteKey.generate()).id, key.id);
});
