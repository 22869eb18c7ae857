import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { verifySignature } from "./ed25519.ts";
import { SiteKey } from "./site-key.ts";

const [key, other] = await Promise.all([SiteKey.generate(), SiteKey.generate()]);

test("a signature is the signer's over the very bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (bytes, others) => {
      const signature = key.sign(bytes);
      assert.equal(verifySignature(key.publicKey, bytes, signature), true);
      assert.equal(verifySignature(other.publicKey, bytes, signature), false);
      const same = Buffer.compare(bytes, others) === 0;
      assert.equal(verifySignature(key.publicKey, others, signature), same);
    }),
    { numRuns: 50 },
  );
});

test("a signature looks as the API wants it", () => {
  assert.match(key.sign(Buffer.from("x")), /^[A-Za-z0-9+/]{86}==$/);
  assert.match(key.publicKey, /^[A-Za-z0-9+/]{43}=$/);
});

test("whatever is no signature or no key is false, not an error", () => {
  const bytes = Buffer.from("terms");
  const good = key.sign(bytes);
  const bad = [
    good.slice(0, -1),
    `${good}=`,
    ` ${good}`,
    good.replaceAll("=", ""),
    "",
    "é",
    "=".repeat(88),
    undefined,
    7,
    {},
  ];
  for (const value of bad) assert.equal(verifySignature(key.publicKey, bytes, value as string), false, String(value));
  for (const value of [...bad, good]) assert.equal(verifySignature(value as string, bytes, good), false, String(value));
  fc.assert(
    fc.property(fc.string(), fc.base64String(), (a, b) => {
      assert.equal(verifySignature(a, bytes, b), false);
      assert.equal(verifySignature(key.publicKey, bytes, a), false);
      assert.equal(verifySignature(key.publicKey, bytes, b), false);
    }),
  );
});

test("a text other than the one that was written is another signature", () => {
  const bytes = Buffer.from("terms");
  const good = key.sign(bytes);
  // The last digit before the padding has four bits that say nothing: sixteen texts would decode to the same bytes.
  for (const digit of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
    const text = `${good.slice(0, 85)}${digit}==`;
    assert.equal(verifySignature(key.publicKey, bytes, text), text === good);
  }
});

test("other keys are refused without showing them", () => {
  const pem = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey.export({
    type: "pkcs8",
    format: "pem",
  });
  assert.throws(() => SiteKey.fromPem(String(pem), "Secret a/b"), {
    code: "IDENTITY_DAMAGED",
    message: /Secret a\/b.*not ed25519/,
  });
  const text = "-----BEGIN PRIVATE KEY-----\nsesame\n-----END PRIVATE KEY-----\n";
  assert.throws(
    () => SiteKey.fromPem(text, "here"),
    (error: Error) => !`${error.stack}${error.cause}`.includes("sesame"),
  );
});
