import { createHash, timingSafeEqual } from "node:crypto";
import type { Secret } from "@fjord/kube";
import type { SiteId } from "../site-identity.ts";
import { base32 } from "./base32.ts";

/** On each Secret that stands for a token, so that they can be found. Value `true`. */
export const PAIRING_LABEL = "fjord.dev/pairing-token";
export const PAIRING_SECRET_TYPE = "fjord.dev/pairing-token";

const SHORT = 10;

/** What is added to a record as its token is used. */
export interface TokenNote {
  readonly redeemedBy?: SiteId;
  /** uid of the Site object that the redemption made; a Site that its owner has deleted is not made again. */
  readonly madeSite?: string;
}

/** What an issuer keeps of a token: never the secret itself. */
export interface TokenRecord extends TokenNote {
  readonly hash: Buffer;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** The name of the Secret follows from the token's secret, so that nothing else has to be sent to find it. */
export function recordName(secret: string): string {
  return `fjord-pairing-${base32(digest("name", secret)).slice(0, SHORT)}`;
}

export function hashOf(secret: string): Buffer {
  return digest("secret", secret);
}

/** In a time that tells nothing of where they differ. */
export function isSecretOf(record: TokenRecord, secret: string): boolean {
  const hash = hashOf(secret);
  return record.hash.length === hash.length && timingSafeEqual(record.hash, hash);
}

export function newRecord(secret: string, namespace: string, expires: number, label?: string): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: recordName(secret), namespace, labels: { [PAIRING_LABEL]: "true" } },
    type: PAIRING_SECRET_TYPE,
    data: {
      hash: hashOf(secret).toString("base64"),
      expires: encode(new Date(expires).toISOString()),
      ...(label === undefined ? {} : { label: encode(label) }),
    },
  };
}

/** Undefined for a Secret that is no token, or a damaged one. */
export function readRecord(secret: Secret): TokenRecord | undefined {
  const data = secret.data ?? {};
  const expires = Date.parse(decode(data.expires) ?? "");
  if (secret.type !== PAIRING_SECRET_TYPE || data.hash === undefined || Number.isNaN(expires)) return undefined;
  return {
    hash: Buffer.from(data.hash, "base64"),
    expires,
    redeemedBy: decode(data.redeemedBy),
    madeSite: decode(data.madeSite),
  };
}

/** The Secret with a note added. Its resource version stays in it, so that whoever writes first wins. */
export function withNote(secret: Secret, note: TokenNote): Secret {
  const added = Object.entries(note).map(([key, value]) => [key, encode(value)]);
  return { ...secret, data: { ...secret.data, ...Object.fromEntries(added) } };
}

function digest(purpose: string, secret: string): Buffer {
  return createHash("sha256").update(`fjord pairing ${purpose}\0${secret}`).digest();
}

function encode(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

function decode(value: string | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
}
