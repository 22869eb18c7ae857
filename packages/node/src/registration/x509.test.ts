import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { certificateRequest, generateKey, selfSignedCertificate } from "./x509.ts";

const openssl = (args: string[], input: string) => {
  const child = promisify(execFile)("openssl", args);
  // It may have ended by then: what it says tells why.
  child.child.stdin?.on("error", () => {}).end(input);
  return child;
};
const skip = await openssl(["version"], "").then(
  () => false as const,
  () => "no openssl here",
);
const key = createPrivateKey(await generateKey());
const subject = { commonName: "system:node:n1", organization: "system:nodes" };

test("a request is understood, and its signature taken, by others", { skip }, async () => {
  const request = certificateRequest(key, subject, ["n1.example.com", "10.0.0.1", "fd00::1:2"]);
  const { stdout, stderr } = await openssl(["req", "-noout", "-text", "-verify", "-subject"], request);
  assert.match(stdout + stderr, /verify OK/i);
  assert.match(stdout, /O = system:nodes, CN = system:node:n1/);
  assert.match(stdout, /DNS:n1\.example\.com, IP Address:10\.0\.0\.1, IP Address:FD00:0:0:0:0:0:1:2/);
});

test("a request without names has no extensions", { skip }, async () => {
  const { stdout } = await openssl(["req", "-noout", "-text", "-verify"], certificateRequest(key, subject));
  assert.doesNotMatch(stdout, /Alternative Name/);
});

test("a self-signed certificate holds what it was made for", () => {
  const from = Date.UTC(2030, 0, 1);
  const to = Date.UTC(2051, 5, 6, 7, 8, 9);
  const certificate = new X509Certificate(
    selfSignedCertificate(key, subject, ["n1", "127.0.0.1", "::1"], { from, to }),
  );
  assert.ok(certificate.verify(certificate.publicKey));
  assert.ok(certificate.checkPrivateKey(key));
  assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:n1");
  assert.equal(certificate.validFromDate.getTime(), from);
  assert.equal(certificate.validToDate.getTime(), to);
  assert.ok(certificate.checkHost("n1") && certificate.checkIP("127.0.0.1") && certificate.checkIP("::1"));
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
});

test("an Ed25519 key signs its certificate, for servers and clients, without names if there are none", () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const validity = { from: Date.UTC(2030, 0, 1), to: Date.UTC(2030, 0, 8) };
  const certificate = new X509Certificate(selfSignedCertificate(privateKey, { commonName: "x" }, [], validity, "peer"));
  assert.ok(certificate.verify(certificate.publicKey));
  assert.ok(certificate.checkPrivateKey(privateKey));
  assert.equal(certificate.publicKey.asymmetricKeyType, "ed25519");
  assert.equal(certificate.subjectAltName, undefined);
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
});

test("every address can be in a certificate", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
      const validity = { from: 0, to: 1 };
      const certificate = new X509Certificate(selfSignedCertificate(key, subject, [address], validity));
      assert.ok(certificate.checkIP(address), address);
    }),
    { numRuns: 50 },
  );
});
