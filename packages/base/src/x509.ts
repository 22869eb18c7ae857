import { der } from "./der.ts";

/*
 * What certificates and requests for them are made of, as DER; whoever has a key signs it. Written by hand: a library
 * for it would stay resident with 25 MB.
 */

export interface X509Name {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export const x509Ids = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  extensionRequest: "1.2.840.113549.1.9.14",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  alternativeNames: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

export interface CertificateContent {
  /** Of the signature to come: DER. */
  readonly algorithm: Uint8Array;
  readonly serial: Uint8Array;
  /** DER, as `x509Name` writes it or as another certificate has it. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly validity: { readonly from: number; readonly to: number };
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  /** As `x509Extension` writes them. */
  readonly extensions: readonly Uint8Array[];
}

/** All of a certificate but its signature. */
export function certificateContent(content: CertificateContent): Buffer {
  const { algorithm, serial, issuer, subject, validity, publicKey, extensions } = content;
  return der.sequence(
    der.context(0, der.integer(Buffer.from([2]))),
    der.integer(serial),
    algorithm,
    issuer,
    der.sequence(der.time(validity.from), der.time(validity.to)),
    subject,
    publicKey,
    der.context(3, der.sequence(...extensions)),
  );
}

/** All of a PKCS #10 request but its signature. */
export function requestContent(
  subject: Uint8Array,
  publicKey: Uint8Array,
  extensions: readonly Uint8Array[] = [],
): Buffer {
  const wanted = der.sequence(der.objectId(x509Ids.extensionRequest), der.set(der.sequence(...extensions)));
  const attributes = extensions.length === 0 ? [] : [wanted];
  return der.sequence(der.integer(Buffer.from([0])), subject, publicKey, der.context(0, ...attributes));
}

export function x509Name({ commonName, organizations = [] }: X509Name): Buffer {
  const part = (oid: string, text: string) => der.set(der.sequence(der.objectId(oid), der.utf8(text)));
  const first = organizations.map((organization) => part(x509Ids.organization, organization));
  return der.sequence(...first, part(x509Ids.commonName, commonName));
}

/** `value` is the extension's own content. */
export function x509Extension(oid: string, value: Uint8Array, critical = false): Buffer {
  return der.sequence(der.objectId(oid), ...(critical ? [der.boolean(true)] : []), der.octets(value));
}

/** DNS names and addresses, told apart by their look. */
export function alternativeNames(names: readonly string[]): Buffer {
  const general = names.map((name) => {
    const address = addressBytes(name);
    return address === undefined ? der.implicit(2, Buffer.from(name, "ascii")) : der.implicit(7, address);
  });
  return x509Extension(x509Ids.alternativeNames, der.sequence(...general));
}

export function basicConstraints(authority: boolean): Buffer {
  return x509Extension(x509Ids.basicConstraints, der.sequence(...(authority ? [der.boolean(true)] : [])), true);
}

/** The bits of a KeyUsage, in the order of their numbers in RFC 5280. */
const usageBits = [
  "digital signature",
  "content commitment",
  "key encipherment",
  "data encipherment",
  "key agreement",
  "cert sign",
  "crl sign",
  "encipher only",
] as const;

export type KeyUsageBit = (typeof usageBits)[number];

export function keyUsage(uses: readonly KeyUsageBit[]): Buffer {
  const byte = uses.reduce((bits, use) => bits | (0x80 >> usageBits.indexOf(use)), 0);
  const unused = byte === 0 ? 0 : Math.log2(byte & -byte);
  return x509Extension(x509Ids.keyUsage, der.bits(Buffer.from([byte]), unused), true);
}

export function extendedKeyUsage(oids: readonly string[]): Buffer {
  return x509Extension(x509Ids.extendedKeyUsage, der.sequence(...oids.map(der.objectId)));
}

/** The bytes of an IPv4 or IPv6 address; undefined for what is none. */
function addressBytes(address: string): Buffer | undefined {
  if (/^\d+(\.\d+){3}$/.test(address)) return Buffer.from(address.split(".").map(Number));
  if (!address.includes(":")) return undefined;
  // The URL parser writes every form of an address in the same, shortened one.
  const short = new URL(`http://[${address.split("%")[0]}]`).hostname.slice(1, -1);
  const [head = "", tail] = short.split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""), "hex");
}
