import { createHash } from "node:crypto";
import type { SiteId } from "../site-identity.ts";
import { base32 } from "./base32.ts";

const LENGTH = 26;
const PATTERN = /^[a-z2-7]{26}$/;

/** The id of whoever holds the key: 130 bits of a hash of the 32 bytes of its public part. */
export function siteIdOf(publicKey: Uint8Array): SiteId {
  return base32(createHash("sha256").update(publicKey).digest()).slice(0, LENGTH);
}

export function isSiteId(value: unknown): value is SiteId {
  return typeof value === "string" && PATTERN.test(value);
}
