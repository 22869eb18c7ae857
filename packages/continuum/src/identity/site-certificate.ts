import type { X509Certificate } from "node:crypto";
import { selfSignedCertificate } from "@fjord/node/registration";
import type { PeerIdentity } from "../site-identity.ts";
import { rawPublicKey } from "./ed25519.ts";
import { CertificateRefused } from "./errors.ts";
import { siteIdOf } from "./site-id.ts";
import type { SiteKey } from "./site-key.ts";

/** How far the clocks of two sites may be apart. */
export const CLOCK_SKEW_MS = 5 * 60_000;

/** A certificate that the site's key signs for itself: its name is the id. */
export function siteCertificate(key: SiteKey, validity: { readonly from: number; readonly to: number }): string {
  return selfSignedCertificate(key.privateKey, { commonName: key.id }, [], validity, "peer");
}

/** Who a certificate proves its holder to be. Throws `CertificateRefused` where it proves nothing. */
export function identifyCertificate(certificate: X509Certificate, now: number): PeerIdentity {
  const { raw, validFrom, validTo, subject } = facts(certificate);
  const id = siteIdOf(raw);
  if (subject !== `CN=${id}`) {
    throw new CertificateRefused("WrongKey", `the certificate is not named after its key, which gives the id ${id}`);
  }
  if (!(now <= validTo + CLOCK_SKEW_MS)) {
    throw new CertificateRefused("Expired", `the certificate of ${id} was good until ${iso(validTo)}${clockHere(now)}`);
  }
  if (!(now >= validFrom - CLOCK_SKEW_MS)) {
    throw new CertificateRefused(
      "NotYetValid",
      `the certificate of ${id} is good from ${iso(validFrom)} on${clockHere(now)}`,
    );
  }
  return { id, publicKey: raw.toString("base64") };
}

function facts(certificate: X509Certificate) {
  try {
    const key = certificate.publicKey;
    if (key.asymmetricKeyType !== "ed25519") {
      throw new CertificateRefused("Malformed", `its key is of the type ${key.asymmetricKeyType}, not ed25519`);
    }
    if (!certificate.verify(key))
      throw new CertificateRefused("BadSignature", "its certificate is not signed by its own key");
    const validFrom = certificate.validFromDate.getTime();
    const validTo = certificate.validToDate.getTime();
    if (!(validFrom <= validTo)) throw new CertificateRefused("Malformed", "its certificate was never valid");
    return { raw: rawPublicKey(key), validFrom, validTo, subject: certificate.subject };
  } catch (error) {
    if (error instanceof CertificateRefused) throw error;
    throw new CertificateRefused("Malformed", "its certificate cannot be read", { cause: error });
  }
}

function clockHere(now: number): string {
  return Number.isNaN(now) ? "" : `, and it is ${iso(now)} by the clock of whoever looks at it`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
