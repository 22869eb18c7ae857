import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import {
  alternativeNames,
  basicConstraints,
  certificateContent,
  der,
  extendedKeyUsage,
  type KeyUsageBit,
  keyUsage,
  pem,
  readDer,
  type X509Name,
  x509Extension,
  x509Ids,
  x509Name,
} from "@fjord/base";

/** A certificate and its key, both in PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

export interface Validity {
  /** Milliseconds since the Unix epoch. */
  readonly from: number;
  readonly to: number;
}

export interface CertificateOrder {
  /** Or in DER, as a request has it. */
  readonly subject: X509Name | Uint8Array;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  /** DNS names and addresses; or the whole extension in DER, as a request has it. */
  readonly names?: readonly string[] | Uint8Array;
  /** @default digital signature and key encipherment */
  readonly keyUsages?: readonly KeyUsageBit[];
  /** Object identifiers. */
  readonly extendedKeyUsages?: readonly string[];
  readonly validity: Validity;
}

/** A key of the kind that all servers take (P-256), as PEM. */
export async function generateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("ec", { namedCurve: "prime256v1" });
  return privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

/** The public part of a key in PEM, as certificates hold it. */
export function publicKeyOf(key: string | KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

/** Signs certificates: P-256, like its key. */
export class Authority {
  /** Its own certificate, in PEM. */
  readonly certificate: string;
  readonly x509: X509Certificate;
  readonly #key: KeyObject;
  readonly #subject: Buffer;
  readonly #keyId: Buffer;

  constructor({ cert, key }: CertificatePair) {
    this.certificate = cert;
    this.x509 = new X509Certificate(cert);
    this.#key = createPrivateKey(key);
    if (!this.x509.checkPrivateKey(this.#key)) throw new Error("the certificate is for another key");
    this.#subject = readDer(this.x509.raw).child(0).child(5).raw;
    this.#keyId = keyIdOf(publicKeyOf(this.#key));
  }

  /** A certificate and key for a new authority, that vouches for itself. */
  static async make(commonName: string, validity: Validity): Promise<CertificatePair> {
    const key = await generateKey();
    const publicKey = publicKeyOf(key);
    const name = x509Name({ commonName });
    const content = certificateContent({
      algorithm: algorithm(),
      serial: serialNumber(),
      issuer: name,
      subject: name,
      validity,
      publicKey,
      extensions: [
        keyUsage(["digital signature", "key encipherment", "cert sign"]),
        basicConstraints(true),
        x509Extension(x509Ids.subjectKeyId, der.octets(keyIdOf(publicKey))),
        alternativeNames([commonName]),
      ],
    });
    return { cert: pem("CERTIFICATE", signed(content, createPrivateKey(key))), key };
  }

  /** A certificate in PEM; it ends with this authority's own at the latest. */
  issue(order: CertificateOrder): string {
    const { subject, publicKey, names = [], extendedKeyUsages = [], validity } = order;
    const { keyUsages = ["digital signature", "key encipherment"] } = order;
    const content = certificateContent({
      algorithm: algorithm(),
      serial: serialNumber(),
      issuer: this.#subject,
      subject: subject instanceof Uint8Array ? subject : x509Name(subject),
      validity: { from: validity.from, to: Math.min(validity.to, this.x509.validToDate.getTime()) },
      publicKey,
      extensions: [
        ...(keyUsages.length === 0 ? [] : [keyUsage(keyUsages)]),
        ...(extendedKeyUsages.length === 0 ? [] : [extendedKeyUsage(extendedKeyUsages)]),
        basicConstraints(false),
        x509Extension(x509Ids.authorityKeyId, der.sequence(der.implicit(0, this.#keyId))),
        ...(names instanceof Uint8Array ? [names] : names.length === 0 ? [] : [alternativeNames(names)]),
      ],
    });
    return pem("CERTIFICATE", signed(content, this.#key));
  }

  /** Whether this authority has signed it; says nothing of its time. */
  hasSigned(certificate: X509Certificate): boolean {
    return certificate.checkIssued(this.x509) && certificate.verify(this.x509.publicKey);
  }
}

const algorithm = () => der.sequence(der.objectId("1.2.840.10045.4.3.2"));

/** Positive, and never zero. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function signed(content: Uint8Array, key: KeyObject): Buffer {
  return der.sequence(content, algorithm(), der.bits(sign("sha256", content, key)));
}

/** As RFC 5280 proposes: the hash of the key's bits alone. */
function keyIdOf(publicKey: Buffer): Buffer {
  return createHash("sha1").update(readDer(publicKey).child(1).bits).digest();
}
