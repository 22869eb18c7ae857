import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { type PairingToken, parseToken, writeToken } from "./pairing-token.ts";
import { hashOf, isSecretOf, newRecord, readRecord, recordName, withNote } from "./token-record.ts";

const token: PairingToken = {
  site: "mzxw6ytboi2dcmrtgq2tmnzyhe",
  endpoints: ["https://wave.example:7443", "https://[fd00::1]:7443/x"],
  secret: randomBytes(32).toString("base64url"),
  expires: Date.UTC(2030, 0, 1),
};
const encode = (value: unknown) => `fjord1.${Buffer.from(JSON.stringify(value)).toString("base64url")}`;
/** Halves of characters included. */
const anyText = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString("utf16le"));
const whole = { i: token.site, e: token.endpoints, s: token.secret, x: 1_900_000_000 };

test("a token is one word that gives back what it was made of", () => {
  const text = writeToken(token);
  assert.match(text, /^fjord1\.[A-Za-z0-9_-]+$/);
  assert.deepEqual(parseToken(text), token);
  assert.deepEqual(parseToken(`  ${text}\n`), token, "as it is pasted");
});

test("a character that was pasted along makes another word of it", () => {
  for (const endpoints of [[], ["https://a.example"], ["https://ab.example"]])
    assert.throws(() => parseToken(`${writeToken({ ...token, endpoints })}x`), {
      code: "PAIRING_TOKEN_UNREADABLE",
      message: /it is cut off or changed/,
    });
});

test("every token that can be made can be read", () => {
  const secret = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => Buffer.from(bytes).toString("base64url"));
  const port = fc.integer({ min: 1, max: 65535 }).map((number) => `https://host-${number}.example:${number}`);
  const endpoints = fc.uniqueArray(port, { maxLength: 8 });
  const expires = fc.integer({ min: 0, max: 4e9 }).map((seconds) => seconds * 1000);
  fc.assert(
    fc.property(
      fc.record({ site: fc.constant(token.site), endpoints, secret, expires }, { noNullPrototype: true }),
      (made) => {
        assert.deepEqual(parseToken(writeToken(made)), made);
      },
    ),
  );
});

test("garbage is refused with a reason, whatever it is", () => {
  const refused = (text: string) =>
    assert.throws(() => parseToken(text), { code: "PAIRING_TOKEN_UNREADABLE", message: /^this is no pairing token: / });
  fc.assert(fc.property(anyText, refused));
  fc.assert(fc.property(fc.base64String(), (text) => refused(`fjord1.${text}`)));
  fc.assert(fc.property(fc.jsonValue(), (value) => refused(encode(value))));
  const field = fc.constantFrom("i", "e", "s", "x");
  fc.assert(
    fc.property(field, fc.jsonValue(), (name, value) => {
      // An empty list of endpoints and any moment are values like others.
      fc.pre(
        !(name === "e" && Array.isArray(value) && value.length === 0) && !(name === "x" && typeof value === "number"),
      );
      refused(encode({ ...whole, [name]: value }));
    }),
  );
});

test("each mistake is named, and the secret never shown", () => {
  const text = writeToken(token);
  for (const [wrong, problem] of [
    ["", /empty/],
    ["hello", /begin with fjord1\./],
    [text.replace("fjord1", "fjord2"), /another version/],
    [text.slice(0, -20), /cut off/],
    [`${text.slice(0, 40)} ${text.slice(40)}`, /characters that no token has/],
    [`fjord1.${"a".repeat(5_000)}`, /more than 4096/],
    [encode({ ...whole, i: "lively-wave" }), /names no site/],
    [encode({ ...whole, s: "short" }), /secret/],
    [encode({ ...whole, x: "soon" }), /expiry/],
    [encode({ ...whole, x: 1.5 }), /expiry/],
    [encode({ ...whole, x: 1e300 }), /expiry/],
    [encode({ ...whole, e: ["http://wave"] }), /endpoints/],
    [encode([whole]), /cut off or changed/],
  ] as const) {
    assert.throws(
      () => parseToken(wrong),
      (error: Error) => {
        assert.match(error.message, problem);
        assert.ok(!error.message.includes(token.secret));
        return true;
      },
    );
  }
});

test("what an issuer keeps recognises the secret and no other", () => {
  const record = newRecord(token.secret, "fjord-system", token.expires, "for the wave");
  const read = readRecord(record);
  assert.ok(read);
  assert.equal(read.expires, token.expires);
  assert.ok(isSecretOf(read, token.secret));
  const last = token.secret.endsWith("A") ? "B" : "A";
  for (const other of ["", token.secret.slice(0, -1), `${token.secret.slice(0, -1)}${last}`]) {
    assert.ok(!isSecretOf(read, other));
  }
  assert.ok(!isSecretOf({ ...read, hash: Buffer.alloc(0) }, ""));
  assert.match(recordName(token.secret), /^fjord-pairing-[a-z2-7]{10}$/);
  assert.ok(
    !hashOf(token.secret)
      .toString("hex")
      .startsWith(Buffer.from(recordName(token.secret).slice(14)).toString("hex")),
  );
});

test("notes are added to a record without losing what is in it", () => {
  const record = newRecord(token.secret, "fjord-system", token.expires);
  const noted = withNote(withNote(record, { redeemedBy: token.site }), { madeSite: "uid-1" });
  assert.deepEqual(readRecord(noted), { ...readRecord(record), redeemedBy: token.site, madeSite: "uid-1" });
});

test("a Secret that is no token's, or a damaged one, is no record", () => {
  const record = newRecord(token.secret, "fjord-system", token.expires);
  assert.equal(readRecord({ ...record, type: "Opaque" }), undefined);
  assert.equal(readRecord({ ...record, data: {} }), undefined);
  assert.equal(readRecord({ ...record, data: { ...record.data, expires: "bm8=" } }), undefined);
});
