import assert from "node:assert/strict";
import { createPrivateKey, sign, X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { alternativeNames, der, pem, readCertificate, requestContent, x509Ids, x509Name } from "@fjord/base";
import type { CertificateSigningRequest } from "@fjord/kube";
import { Authority, generateKey, publicKeyOf } from "./authority.ts";
import { autoApprovals, expiryOf, signingProblem, signRequest } from "./certificate-signer.ts";
import { parseSigningRequest } from "./signing-request.ts";

const key = createPrivateKey(await generateKey());
const now = Date.UTC(2026, 5, 1);
const authority = new Authority(await Authority.make("ca", { from: now - 1, to: now + 1e12 }));

function requestFor(commonName: string, organizations: string[], names: string[] = []) {
  const extensions = names.length === 0 ? [] : [alternativeNames(names)];
  const content = requestContent(x509Name({ commonName, organizations }), publicKeyOf(key), extensions);
  const signature = der.bits(sign("sha256", content, key));
  const whole = der.sequence(content, der.sequence(der.objectId("1.2.840.10045.4.3.2")), signature);
  return parseSigningRequest(pem("CERTIFICATE REQUEST", whole));
}

const spec = (signerName: string, usages: string[], more: object = {}) =>
  ({ signerName, usages, request: "", ...more }) as CertificateSigningRequest["spec"];
const client = ["digital signature", "key encipherment", "client auth"];
const server = ["digital signature", "server auth"];
const [USER, KUBELET, SERVING] = [
  "kubernetes.io/kube-apiserver-client",
  "kubernetes.io/kube-apiserver-client-kubelet",
  "kubernetes.io/kubelet-serving",
];

describe("a signer", () => {
  it("of users' certificates asks for the right usages", () => {
    const jane = requestFor("jane", ["dev"]);
    assert.equal(signingProblem(spec(USER, client), jane), undefined);
    assert.equal(signingProblem(spec(USER, server), jane), "invalid usage for client certificate: server auth");
    assert.match(signingProblem(spec(USER, ["digital signature"]), jane) ?? "", /missing required usage/);
  });

  it("of kubelets' client certificates asks for a node's name, and none beside", () => {
    const node = requestFor("system:node:n1", ["system:nodes"]);
    assert.equal(signingProblem(spec(KUBELET, client), node), undefined);
    assert.equal(signingProblem(spec(KUBELET, ["digital signature", "client auth"]), node), undefined);
    assert.equal(
      signingProblem(spec(KUBELET, server), node),
      "usages did not match [client auth digital signature key encipherment]",
    );
    assert.match(signingProblem(spec(KUBELET, client), requestFor("n1", ["system:nodes"])) ?? "", /system:node:/);
    assert.equal(
      signingProblem(spec(KUBELET, client), requestFor("system:node:n1", ["system:masters"])),
      "subject organization is not system:nodes",
    );
    const named = requestFor("system:node:n1", ["system:nodes"], ["n1"]);
    assert.equal(signingProblem(spec(KUBELET, client), named), "DNS subjectAltNames are not allowed");
  });

  it("of kubelets' serving certificates asks for names", () => {
    const named = requestFor("system:node:n1", ["system:nodes"], ["n1", "10.0.0.1"]);
    assert.equal(signingProblem(spec(SERVING, server), named), undefined);
    const bare = requestFor("system:node:n1", ["system:nodes"]);
    assert.equal(signingProblem(spec(SERVING, server), bare), "DNS or IP subjectAltName is required");
  });

  it("signs for the usages and the time that were asked for, a year at most", () => {
    const node = requestFor("system:node:n1", ["system:nodes"]);
    const x509 = new X509Certificate(
      signRequest(authority, spec(KUBELET, client, { expirationSeconds: 600 }), node, now),
    );
    const facts = readCertificate(x509.raw);
    assert.ok(authority.hasSigned(x509));
    assert.deepEqual(facts.extendedKeyUsage, [x509Ids.clientAuth]);
    assert.deepEqual(facts.validity, { from: now - 300_000, to: now + 600_000 });
    const long = readCertificate(new X509Certificate(signRequest(authority, spec(KUBELET, client), node, now)).raw);
    assert.equal(long.validity.to - long.validity.from, 365 * 24 * 3_600_000);
  });
});

describe("requests", () => {
  it("of kubelets may be approved by themselves", () => {
    const node = requestFor("system:node:n1", ["system:nodes"]);
    const by = (username: string) => autoApprovals(spec(KUBELET, client, { username }), node);
    assert.deepEqual(by("system:bootstrap:abcdef"), ["nodeclient"]);
    assert.deepEqual(by("system:node:n1"), ["selfnodeclient", "nodeclient"]);
    assert.deepEqual(autoApprovals(spec(USER, client, { username: "x" }), node), []);
  });

  it("go when nobody needs them any more", () => {
    const request = (conditions: object[]) =>
      ({
        metadata: { creationTimestamp: "2026-06-01T00:00:00Z" },
        status: { conditions },
      }) as unknown as CertificateSigningRequest;
    assert.equal(expiryOf(request([])), now + 24 * 3_600_000);
    const lastUpdateTime = "2026-06-01T02:00:00Z";
    assert.equal(expiryOf(request([{ type: "Approved", lastUpdateTime }])), now + 3 * 3_600_000);
  });
});
