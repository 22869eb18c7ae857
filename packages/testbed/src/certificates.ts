import type { webcrypto } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { X509Certificate } from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const lifetime = 365 * 24 * 3_600_000;

export interface CertificateRequest {
  commonName: string;
  /** Groups, in the eyes of an API server. */
  organizations?: readonly string[];
  dnsNames?: readonly string[];
  addresses?: readonly string[];
  /** What the certificate is good for. @default both */
  usages?: readonly ("server" | "client")[];
}

/** PEM texts. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority that lives as `NAME.crt` and `NAME.key` in a directory. */
export class Authority {
  readonly #certificate: X509Certificate;
  readonly #key: webcrypto.CryptoKey;

  private constructor(certificate: X509Certificate, key: webcrypto.CryptoKey) {
    this.#certificate = certificate;
    this.#key = key;
  }

  /** PEM. */
  get certificate(): string {
    return this.#certificate.toString("pem");
  }

  /** Makes a new one, and writes it. */
  static async create(directory: string, name: string, now: number): Promise<Authority> {
    const x509 = await loadX509();
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: [{ CN: [name] }],
      keys,
      signingAlgorithm: algorithm,
      ...validity(now),
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    await writePair(directory, name, {
      certificate: certificate.toString("pem"),
      key: await privatePem(keys.privateKey),
    });
    return new Authority(certificate, keys.privateKey);
  }

  /** The one that `create` wrote. */
  static async load(directory: string, name: string): Promise<Authority> {
    const x509 = await loadX509();
    const [certificate, key] = await Promise.all(
      ["crt", "key"].map((suffix) => readFile(join(directory, `${name}.${suffix}`), "utf8")),
    );
    const der = x509.PemConverter.decodeFirst(key as string);
    return new Authority(
      new x509.X509Certificate(certificate as string),
      await crypto.subtle.importKey("pkcs8", der, algorithm, true, ["sign"]),
    );
  }

  /** A key and a certificate for it; `now` dates it. */
  async issue(request: CertificateRequest, now: number): Promise<KeyPair> {
    const x509 = await loadX509();
    const keys = await generateKeys();
    const usages = request.usages ?? ["server", "client"];
    const names = [
      ...(request.dnsNames ?? []).map((value) => ({ type: "dns", value }) as const),
      ...(request.addresses ?? []).map((value) => ({ type: "ip", value }) as const),
    ];
    const certificate = await x509.X509CertificateGenerator.create({
      subject: [{ CN: [request.commonName] }, ...(request.organizations ?? []).map((name) => ({ O: [name] }))],
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#key,
      signingAlgorithm: algorithm,
      ...validity(now),
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(
          usages.map((usage) =>
            usage === "server" ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth,
          ),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(this.#certificate.publicKey),
        ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
      ],
    });
    return { certificate: certificate.toString("pem"), key: await privatePem(keys.privateKey) };
  }

  /** Issues, and writes the pair as `NAME.crt` and `NAME.key`. */
  async issueTo(directory: string, name: string, request: CertificateRequest, now: number): Promise<KeyPair> {
    const pair = await this.issue(request, now);
    await writePair(directory, name, pair);
    return pair;
  }
}

/** A key pair without a certificate, as `NAME.key` and `NAME.pub`. */
export async function createSigningKey(directory: string, name: string): Promise<void> {
  const keys = await generateKeys();
  const publicKey = await crypto.subtle.exportKey("spki", keys.publicKey);
  await writeFile(join(directory, `${name}.key`), await privatePem(keys.privateKey), { mode: 0o600 });
  await writeFile(join(directory, `${name}.pub`), pem("PUBLIC KEY", publicKey));
}

async function writePair(directory: string, name: string, pair: KeyPair): Promise<void> {
  await writeFile(join(directory, `${name}.key`), pair.key, { mode: 0o600 });
  await writeFile(join(directory, `${name}.crt`), `${pair.certificate}\n`);
}

/** Back-dated by an hour: a machine whose clock lags a little still accepts it. */
function validity(now: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now - 3_600_000), notAfter: new Date(now + lifetime) };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return pem("PRIVATE KEY", await crypto.subtle.exportKey("pkcs8", key));
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

let library: Promise<typeof import("@peculiar/x509")> | undefined;

/** Loaded on first use only: it takes 25 MB that most commands do not need. */
function loadX509(): Promise<typeof import("@peculiar/x509")> {
  library ??= importX509();
  return library;
}

/**
 * While it loads, the library asks Reflect about decorators on its classes, of which there are none, by functions that
 * Node does not have. They are there for that moment only, so that a real implementation may be loaded before or after.
 */
async function importX509(): Promise<typeof import("@peculiar/x509")> {
  const reflect = Reflect as unknown as Record<string, unknown>;
  const missing = ["getMetadata", "getOwnMetadata"].filter((name) => reflect[name] === undefined);
  for (const name of missing) reflect[name] = () => undefined;
  try {
    return await import("@peculiar/x509");
  } finally {
    for (const name of missing) delete reflect[name];
  }
}
