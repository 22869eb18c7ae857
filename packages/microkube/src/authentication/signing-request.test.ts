import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createPrivateKey, sign, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { promisify } from "node:util";
import { alternativeNames, der, pem, readCertificate, requestContent, x509Ids, x509Name } from "@fjord/base";
import { Authority, generateKey, publicKeyOf } from "./authority.ts";
import { parseSigningRequest } from "./signing-request.ts";

const run = promisify(execFile);
const skip = await run("openssl", ["version"]).then(
  () => false as const,
  () => "no openssl here",
);
const validity = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) };

async function requestOf(names: string[] = [], spoil = 0): Promise<string> {
  const key = createPrivateKey(await generateKey());
  const subject = x509Name({ commonName: "system:node:n1", organizations: ["system:nodes"] });
  const content = requestContent(subject, publicKeyOf(key), names.length === 0 ? [] : [alternativeNames(names)]);
  const signature = sign("sha256", content, key);
  if (spoil > 0) content[20] = (content[20] ?? 0) ^ spoil;
  const algorithm = der.sequence(der.objectId("1.2.840.10045.4.3.2"));
  return pem("CERTIFICATE REQUEST", der.sequence(content, algorithm, der.bits(signature)));
}

test("a request says who asks, and for which names", async () => {
  const request = parseSigningRequest(await requestOf(["n1.example.com", "10.0.0.1", "fd00::1"]));
  assert.equal(request.subject.commonName, "system:node:n1");
  assert.deepEqual(request.subject.organizations, ["system:nodes"]);
  assert.deepEqual(request.dnsNames, ["n1.example.com"]);
  assert.deepEqual(request.addresses, ["10.0.0.1", "fd00:0:0:0:0:0:0:1"]);
});

test("a request of openssl is read, with RSA and with Ed25519", { skip }, async () => {
  for (const algorithm of ["rsa:2048", "ed25519"]) {
    const args = [
      "req",
      "-new",
      "-nodes",
      "-newkey",
      algorithm,
      "-keyout",
      "/dev/null",
      "-subj",
      "/O=dev/O=ops/CN=jané",
    ];
    const { stdout } = await run("openssl", [
      ...args,
      "-utf8",
      "-addext",
      "subjectAltName=email:a@b.c,URI:spiffe://x/y",
    ]);
    const request = parseSigningRequest(stdout);
    assert.equal(request.subject.commonName, "jané");
    assert.deepEqual(request.subject.organizations, ["dev", "ops"]);
    assert.deepEqual([request.emails, request.uris], [["a@b.c"], ["spiffe://x/y"]]);
  }
});

test("what was changed after it was signed, or is no request, is refused", async () => {
  const changed = await requestOf([], 1);
  assert.throws(() => parseSigningRequest(changed), Error);
  assert.throws(() => parseSigningRequest("hello"), /PEM block type must be CERTIFICATE REQUEST/);
  assert.throws(() => parseSigningRequest(pem("CERTIFICATE REQUEST", Buffer.from("hello"))), Error);
});

test("a certificate for a request has its subject, its names and its key", async () => {
  const authority = new Authority(await Authority.make("ca", validity));
  const request = parseSigningRequest(await requestOf(["n1", "10.0.0.1"]));
  const cert = authority.issue({
    subject: request.subject.raw,
    publicKey: request.publicKey,
    ...(request.alternativeNames && { names: request.alternativeNames }),
    extendedKeyUsages: [x509Ids.serverAuth],
    validity: { from: validity.from, to: validity.to + 1e12 },
  });
  const x509 = new X509Certificate(cert);
  assert.ok(authority.hasSigned(x509));
  assert.deepEqual(x509.publicKey.export({ type: "spki", format: "der" }), request.publicKey);
  assert.ok(x509.checkHost("n1") && x509.checkIP("10.0.0.1"));
  const facts = readCertificate(x509.raw);
  assert.equal(facts.subject.commonName, "system:node:n1");
  assert.deepEqual(facts.validity, validity);
  assert.deepEqual(facts.extendedKeyUsage, [x509Ids.serverAuth]);
});
