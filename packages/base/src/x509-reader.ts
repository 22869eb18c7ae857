import { type DerValue, MalformedDer, readDer } from "./der-reader.ts";
import { x509Ids } from "./x509.ts";

/** What a certificate, or a request for one, says of whom it is for. */
export interface X509Subject {
  /** The last one, where there are several; empty for none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** All of it, in DER. */
  readonly raw: Buffer;
}

export interface X509AlternativeNames {
  readonly dnsNames: readonly string[];
  /** In text: IPv6 addresses unshortened. */
  readonly addresses: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

export interface CertificateRequest extends X509AlternativeNames {
  readonly subject: X509Subject;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Buffer;
  /** DER of the extension, to be taken over into a certificate. */
  readonly alternativeNames: Buffer | undefined;
  /** What `signature` is over. */
  readonly content: Buffer;
  readonly signature: Buffer;
  /** Object identifier. */
  readonly signatureAlgorithm: string;
}

export interface CertificateFacts {
  readonly subject: X509Subject;
  readonly issuer: Buffer;
  readonly validity: { readonly from: number; readonly to: number };
  /** Object identifiers; undefined: for every use. */
  readonly extendedKeyUsage: readonly string[] | undefined;
}

/** Reads a PKCS #10 request in DER; the signature is not checked here. Throws `MalformedDer`. */
export function readCertificateRequest(bytes: Uint8Array): CertificateRequest {
  const whole = readDer(bytes);
  const content = whole.child(0);
  const names = requestedExtensions(content).find((each) => each.child(0).objectId === x509Ids.alternativeNames);
  return {
    subject: readSubject(content.child(1)),
    publicKey: content.child(2).raw,
    alternativeNames: names?.raw,
    ...readAlternativeNames(names),
    content: content.raw,
    signatureAlgorithm: whole.child(1).child(0).objectId,
    signature: whole.child(2).bits,
  };
}

/** Reads of a certificate in DER what authentication needs. Throws `MalformedDer`. */
export function readCertificate(bytes: Uint8Array): CertificateFacts {
  const parts = readDer(bytes).child(0).children;
  // Only version 1 has no version.
  const [, , issuer, validity, subject] = parts[0]?.tag === 0xa0 ? parts.slice(1) : parts;
  if (!issuer || !validity || !subject) throw new MalformedDer({ problem: "it is no certificate" });
  const extensions = parts.find((part) => part.tag === 0xa3)?.child(0).children ?? [];
  const uses = extensions.find((each) => each.child(0).objectId === x509Ids.extendedKeyUsage);
  return {
    subject: readSubject(subject),
    issuer: issuer.raw,
    validity: { from: readTime(validity.child(0)), to: readTime(validity.child(1)) },
    extendedKeyUsage: uses && contentOf(uses).children.map((use) => use.objectId),
  };
}

function readSubject(name: DerValue): X509Subject {
  const parts = name.children.flatMap((set) => set.children).map((part) => part.children);
  const all = (oid: string) => parts.filter(([id]) => id?.objectId === oid).map(([, value]) => value?.text ?? "");
  return {
    commonName: all(x509Ids.commonName).at(-1) ?? "",
    organizations: all(x509Ids.organization),
    raw: name.raw,
  };
}

function requestedExtensions(content: DerValue): DerValue[] {
  const attributes = content.children.find((part) => part.tag === 0xa0)?.children ?? [];
  const wanted = attributes.find((each) => each.child(0).objectId === x509Ids.extensionRequest);
  return wanted === undefined ? [] : wanted.child(1).child(0).children;
}

/** The content of an extension, which is the last of its parts. */
function contentOf(extension: DerValue): DerValue {
  const octets = extension.children.at(-1);
  if (octets === undefined) throw new MalformedDer({ problem: "an extension is empty" });
  return readDer(octets.content);
}

function readAlternativeNames(extension: DerValue | undefined): X509AlternativeNames {
  const names = extension === undefined ? [] : contentOf(extension).children;
  const of = (number: number) => names.filter((name) => name.tag === (0x80 | number)).map((name) => name.content);
  const texts = (number: number) => of(number).map((bytes) => bytes.toString("latin1"));
  return { emails: texts(1), dnsNames: texts(2), uris: texts(6), addresses: of(7).map(addressText) };
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) throw new MalformedDer({ problem: "an address is of a strange length" });
  return (bytes.toString("hex").match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, "")).join(":");
}

function readTime(value: DerValue): number {
  const digits = value.text;
  // Two digits for the year mean 1950 to 2049.
  const full = value.tag === 0x17 ? `${digits < "50" ? "20" : "19"}${digits}` : digits;
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full);
  if (match === null) throw new MalformedDer({ problem: "a time is written wrongly" });
  const [year = 0, month = 1, ...rest] = match.slice(1).map(Number);
  return Date.UTC(year, month - 1, ...rest);
}
