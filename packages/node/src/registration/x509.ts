import { createPublicKey, generateKeyPair, type KeyObject, randomBytes, sign } from "node:crypto";
import {
  alternativeNames,
  basicConstraints,
  certificateContent,
  der,
  extendedKeyUsage,
  keyUsage,
  pem,
  requestContent,
  x509Ids,
  x509Name,
} from "@fjord/base";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { promisify } = process.getBuiltinModule("node:util");

export interface CertificateSubject {
  readonly commonName: string;
  readonly organization?: string;
}

/** DNS names and addresses, told apart by their look. */
export type AlternativeNames = readonly string[];

const ecdsaWithSha256 = { id: "1.2.840.10045.4.3.2", digest: "sha256" };
/** Takes the content whole, hence without a digest. */
const ed25519 = { id: "1.3.101.112", digest: null };

/** A key of the kind that all servers take (P-256), as PEM. */
export async function generateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("ec", { namedCurve: "prime256v1" });
  return privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

/** A PKCS #10 request in PEM for the public part of `key`. */
export function certificateRequest(key: KeyObject, subject: CertificateSubject, names: AlternativeNames = []): string {
  const extensions = names.length === 0 ? [] : [alternativeNames(names)];
  return pem("CERTIFICATE REQUEST", signed(requestContent(nameOf(subject), publicKeyOf(key), extensions), key));
}

/**
 * A certificate in PEM that vouches for itself, for whoever does not check or knows the key (P-256 or Ed25519). It is a
 * server's, and with `peer` a client's as well.
 */
export function selfSignedCertificate(
  key: KeyObject,
  subject: CertificateSubject,
  names: AlternativeNames,
  validity: { readonly from: number; readonly to: number },
  role: "server" | "peer" = "server",
): string {
  const uses = role === "server" ? [x509Ids.serverAuth] : [x509Ids.serverAuth, x509Ids.clientAuth];
  const content = certificateContent({
    algorithm: der.sequence(der.objectId(algorithmOf(key).id)),
    serial: randomBytes(16),
    issuer: nameOf(subject),
    subject: nameOf(subject),
    validity,
    publicKey: publicKeyOf(key),
    extensions: [
      basicConstraints(true),
      // It signs certificates, of which this is one.
      keyUsage(["digital signature", "cert sign"]),
      extendedKeyUsage(uses),
      ...(names.length === 0 ? [] : [alternativeNames(names)]),
    ],
  });
  return pem("CERTIFICATE", signed(content, key));
}

function signed(content: Uint8Array, key: KeyObject): Buffer {
  const { id, digest } = algorithmOf(key);
  return der.sequence(content, der.sequence(der.objectId(id)), der.bits(sign(digest, content, key)));
}

function algorithmOf(key: KeyObject) {
  return key.asymmetricKeyType === "ed25519" ? ed25519 : ecdsaWithSha256;
}

/** The public part of a key, as certificates hold it. */
export function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

function nameOf({ commonName, organization }: CertificateSubject): Buffer {
  return x509Name({ commonName, ...(organization !== undefined && { organizations: [organization] }) });
}
