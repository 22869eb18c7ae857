import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { CertificateRefused } from "./errors.ts";
import { CLOCK_SKEW_MS, identifyCertificate, siteCertificate } from "./site-certificate.ts";
import { SiteKey } from "./site-key.ts";

const key = await SiteKey.generate();
const [from, to] = [Date.UTC(2030, 0, 1), Date.UTC(2030, 0, 8)];
const pem = siteCertificate(key, { from, to });
const certificate = new X509Certificate(pem);

const reasonAt = (now: number) => {
  try {
    return identifyCertificate(certificate, now).id;
  } catch (error) {
    return (error as CertificateRefused).reason;
  }
};

test("a site's certificate proves its id while it is valid, and a little around", () => {
  assert.deepEqual(identifyCertificate(certificate, from + 1), { id: key.id, publicKey: key.publicKey });
  for (const now of [from - CLOCK_SKEW_MS, from, to, to + CLOCK_SKEW_MS]) assert.equal(reasonAt(now), key.id);
  assert.equal(reasonAt(from - CLOCK_SKEW_MS - 1), "NotYetValid");
  assert.equal(reasonAt(to + CLOCK_SKEW_MS + 1), "Expired");
  assert.equal(reasonAt(Number.NaN), "Expired", "no time is no time at which it is valid");
});

test("a certificate with any bit changed proves nothing", () => {
  const good = certificate.raw;
  let read = 0;
  for (let bit = 0; bit < good.length * 8; bit++) {
    const bytes = Buffer.from(good);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    let changed: X509Certificate;
    try {
      changed = new X509Certificate(bytes);
    } catch {
      continue;
    }
    read++;
    assert.throws(() => identifyCertificate(changed, from + 1), CertificateRefused, `bit ${bit}`);
  }
  assert.ok(read > 500, "most changes leave something that can be read");
});

test("the key of another site signs no certificate for this one", async () => {
  const other = await SiteKey.generate();
  const theirs = new X509Certificate(siteCertificate(other, { from, to }));
  assert.equal(identifyCertificate(theirs, from + 1).id, other.id);
  assert.notEqual(other.id, key.id);
});
