import { createPublicKey, generateKeyPair, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import { der, pem } from "./der.ts";

/*
 * Requests and self-signed certificates, written by hand: a library for them would stay resident with 25 MB, which is
 * more than all else that a node adds to Node.js.
 */

export interface CertificateSubject {
  readonly commonName: string;
  readonly organization?: string;
}

/** DNS names and addresses, told apart by their look. */
export type AlternativeNames = readonly string[];

const ecdsaWithSha256 = { id: der.sequence(der.objectId("1.2.840.10045.4.3.2")), digest: "sha256" };
/** Takes the content whole, hence without a digest. */
const ed25519 = { id: der.sequence(der.objectId("1.3.101.112")), digest: null };
const oids = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  extensionRequest: "1.2.840.113549.1.9.14",
  alternativeNames: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
};

/** A key of the kind that all servers take (P-256), as PEM. */
export async function generateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("ec", { namedCurve: "prime256v1" });
  return privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

/** A PKCS #10 request in PEM for the public part of `key`. */
export function certificateRequest(key: KeyObject, subject: CertificateSubject, names: AlternativeNames = []): string {
  const extensions = names.length === 0 ? [] : [der.sequence(alternativeNames(names))];
  const attributes = extensions.map((each) => der.sequence(der.objectId(oids.extensionRequest), der.set(each)));
  const info = der.sequence(
    der.integer(Buffer.from([0])),
    nameOf(subject),
    publicKeyOf(key),
    der.context(0, ...attributes),
  );
  return pem("CERTIFICATE REQUEST", signed(info, key));
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
  const uses = role === "server" ? [oids.serverAuth] : [oids.serverAuth, oids.clientAuth];
  const critical = der.boolean(true);
  const extensions = der.sequence(
    extension(oids.basicConstraints, der.sequence(critical), critical),
    // Digital signature, and the signing of certificates, of which this is one.
    extension(oids.keyUsage, der.bits(Buffer.from([0b1000_0100]), 2), critical),
    extension(oids.extendedKeyUsage, der.sequence(...uses.map(der.objectId))),
    ...(names.length === 0 ? [] : [alternativeNames(names)]),
  );
  const content = der.sequence(
    der.context(0, der.integer(Buffer.from([2]))),
    der.integer(randomBytes(16)),
    algorithmOf(key).id,
    nameOf(subject),
    der.sequence(der.time(validity.from), der.time(validity.to)),
    nameOf(subject),
    publicKeyOf(key),
    der.context(3, extensions),
  );
  return pem("CERTIFICATE", signed(content, key));
}

function signed(content: Uint8Array, key: KeyObject): Buffer {
  const { id, digest } = algorithmOf(key);
  return der.sequence(content, id, der.bits(sign(digest, content, key)));
}

function algorithmOf(key: KeyObject) {
  return key.asymmetricKeyType === "ed25519" ? ed25519 : ecdsaWithSha256;
}

/** The public part of a key, as certificates hold it. */
export function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

function nameOf({ commonName, organization }: CertificateSubject): Buffer {
  const part = (oid: string, text: string) => der.set(der.sequence(der.objectId(oid), der.utf8(text)));
  const first = organization === undefined ? [] : [part(oids.organization, organization)];
  return der.sequence(...first, part(oids.commonName, commonName));
}

function extension(oid: string, value: Uint8Array, ...critical: Uint8Array[]): Buffer {
  return der.sequence(der.objectId(oid), ...critical, der.octets(value));
}

function alternativeNames(names: AlternativeNames): Buffer {
  const general = names.map((name) =>
    isIP(name) === 0 ? der.implicit(2, Buffer.from(name, "ascii")) : der.implicit(7, addressBytes(name)),
  );
  return extension(oids.alternativeNames, der.sequence(...general));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  // The URL parser writes every form of an address in the same, shortened one.
  const short = new URL(`http://[${address.split("%")[0]}]`).hostname.slice(1, -1);
  const [head = "", tail] = short.split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""), "hex");
}
