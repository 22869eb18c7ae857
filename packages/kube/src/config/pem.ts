import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";

/** What is wrong with PEM certificates, in words, or undefined when nothing is. */
export function certificateProblem(pem: string): string | undefined {
  const blocks = certificateBlocks(pem);
  if (blocks.length === 0)
    return pem.includes("PRIVATE KEY-----") ? "a key where a certificate belongs" : "no PEM certificate";
  const broken = blocks.findIndex((block) => parseCertificate(block) === undefined);
  if (broken < 0) return undefined;
  return blocks.length === 1
    ? "a PEM certificate that cannot be decoded"
    : `PEM certificate ${broken + 1} of ${blocks.length} cannot be decoded`;
}

/** What is wrong with a PEM private key. */
export function keyProblem(pem: string): string | undefined {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) {
    return certificateBlocks(pem).length > 0 ? "a certificate where a key belongs" : "no PEM private key";
  }
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(pem))
    return "the key is encrypted with a passphrase";
  return parseKey(pem) === undefined ? "a PEM private key that cannot be decoded" : undefined;
}

/** What is wrong with a certificate (the first of a chain) and its key together, at the time `now`. */
export function pairProblem(cert: string, key: string, now: number): string | undefined {
  const certificate = parseCertificate(certificateBlocks(cert)[0] ?? "");
  const privateKey = parseKey(key);
  if (certificate === undefined || privateKey === undefined) return "not a certificate and its key";
  if (!certificate.checkPrivateKey(privateKey)) return "the certificate and the key do not belong together";
  return validityProblem(certificate, now);
}

function validityProblem(certificate: X509Certificate, now: number): string | undefined {
  if (now > certificate.validToDate.getTime())
    return `the certificate expired on ${certificate.validToDate.toISOString()}`;
  return undefined;
}

/** When the first certificate of a chain runs out, in milliseconds since the epoch. */
export function certificateExpiry(pem: string): number | undefined {
  return parseCertificate(certificateBlocks(pem)[0] ?? "")?.validToDate.getTime();
}

function certificateBlocks(pem: string): string[] {
  return pem.match(/-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g) ?? [];
}

function parseCertificate(block: string): X509Certificate | undefined {
  try {
    return new X509Certificate(block);
  } catch {
    return undefined;
  }
}

function parseKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** The bytes of standard base64 as text, or undefined when it is not that. Line breaks are allowed. */
export function decodeBase64(text: string): string | undefined {
  const compact = text.replace(/\s+/g, "");
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) return undefined;
  return Buffer.from(compact, "base64").toString("utf8");
}
