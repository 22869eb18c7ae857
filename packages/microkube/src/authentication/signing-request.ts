import { createPublicKey, verify } from "node:crypto";
import { type CertificateRequest, readCertificateRequest, unpem } from "@fjord/base";

const digests: Readonly<Record<string, string | null>> = {
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  // Ed25519 takes the content whole.
  "1.3.101.112": null,
};

/**
 * A PKCS #10 request in PEM, as `spec.request` of a CertificateSigningRequest has it, read and its signature checked;
 * throws an `Error` whose message says what is wrong.
 */
export function parseSigningRequest(text: string): CertificateRequest {
  const bytes = unpem("CERTIFICATE REQUEST", text);
  if (bytes === undefined) throw new Error("PEM block type must be CERTIFICATE REQUEST");
  const request = readCertificateRequest(bytes);
  const digest = digests[request.signatureAlgorithm];
  if (digest === undefined) throw new Error("x509: cannot verify signature: algorithm unimplemented");
  const key = createPublicKey({ key: request.publicKey, format: "der", type: "spki" });
  if (!verify(digest, request.content, key, request.signature)) {
    throw new Error("x509: the signature of the request is not its key's");
  }
  return request;
}
