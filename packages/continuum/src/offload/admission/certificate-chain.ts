import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { generateKey, selfSignedCertificate } from "@fjord/node/registration";

/** PEM. */
export interface ServingPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * The certificates of admission servers: the one that is served, the one that will be, and the one that was. API
 * servers believe all three, so that it does not matter who hears of a change first.
 */
export interface CertificateChain {
  readonly current: ServingPair;
  readonly next?: ServingPair;
  readonly previous?: string;
}

export const LIFETIME_MS = 365 * 24 * 3_600_000;
/** How long the next certificate is believed before it is served. */
export const SETTLE_MS = 60_000;
/** Clocks differ. */
const BACKDATED_MS = 3_600_000;
/** A device without a clock of its own learns long after its start what time it is, and no timer knows of that: what time it is, is looked at this often. */
const LOOK_MS = 10 * 60_000;

export async function newPair(names: readonly string[], now: number, lifetimeMs = LIFETIME_MS): Promise<ServingPair> {
  const key = await generateKey();
  const validity = { from: now - BACKDATED_MS, to: now + lifetimeMs };
  return {
    key,
    cert: selfSignedCertificate(createPrivateKey(key), { commonName: "fjord-admission" }, names, validity),
  };
}

/** All that API servers are to believe. */
export function trusted({ current, next, previous }: CertificateChain): string {
  return [current.cert, next?.cert, previous].filter((each) => each !== undefined).join("");
}

/** The chain as it is to be now. The same object where nothing is to be changed. */
export async function advanced(
  chain: CertificateChain,
  names: readonly string[],
  now: number,
  settleMs = SETTLE_MS,
): Promise<CertificateChain> {
  const { current, next } = chain;
  const certificate = new X509Certificate(current.cert);
  const end = certificate.validToDate.getTime();
  // One that was made while the clock was ahead is believed by nobody until that time comes.
  const isGood = certificate.validFromDate.getTime() <= now && now < end;
  // Nobody can have been asked under a name that is new: nobody is disturbed.
  if (!isGood || !covers(certificate, names)) return { current: await newPair(names, now), previous: current.cert };
  if (next !== undefined) {
    const made = new X509Certificate(next.cert).validFromDate.getTime() + BACKDATED_MS;
    return now - made < settleMs ? chain : { current: next, previous: current.cert };
  }
  const life = end - certificate.validFromDate.getTime();
  return end - now > life / 3 ? chain : { ...chain, next: await newPair(names, now) };
}

/** When to look at the chain again, though nothing has happened. */
export function lookAgainAfter({ current, next }: CertificateChain, now: number, settleMs = SETTLE_MS): number {
  if (next !== undefined) return settleMs;
  const { validToDate, validFromDate } = new X509Certificate(current.cert);
  const renewable = validToDate.getTime() - (validToDate.getTime() - validFromDate.getTime()) / 3;
  return Math.min(Math.max(renewable - now, 1_000), LOOK_MS);
}

function covers(certificate: X509Certificate, names: readonly string[]): boolean {
  return names.every((name) =>
    isIP(name) === 0 ? certificate.checkHost(name) !== undefined : certificate.checkIP(name) !== undefined,
  );
}
