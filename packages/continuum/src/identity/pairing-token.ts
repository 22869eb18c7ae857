import type { SiteId } from "../site-identity.ts";
import { checkEndpoints } from "./endpoint.ts";
import { TokenUnreadable } from "./errors.ts";
import { isSiteId } from "./site-id.ts";

/** What a site hands to another so that the two may pair: whom to ask, where, and the secret that allows it once. */
export interface PairingToken {
  readonly site: SiteId;
  readonly endpoints: readonly string[];
  readonly secret: string;
  /** Milliseconds since the epoch, to the second. */
  readonly expires: number;
}

const PREFIX = "fjord1.";
const LONGEST = 4096;
/** 32 bytes in base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const BASE64URL = /^[A-Za-z0-9_-]+$/;
/** Years beyond which a time is none. */
const LATEST = Date.UTC(9999, 0, 1) / 1000;

/** One word that survives mails, shells and chats. */
export function writeToken({ site, endpoints, secret, expires }: PairingToken): string {
  const json = JSON.stringify({ i: site, e: endpoints, s: secret, x: Math.floor(expires / 1000) });
  return PREFIX + Buffer.from(json, "utf8").toString("base64url");
}

/** Throws `TokenUnreadable`. The text itself is in no message: it is a secret. */
export function parseToken(text: string): PairingToken {
  const word = text.trim();
  if (word === "") throw unreadable("it is empty");
  if (word.length > LONGEST) throw unreadable(`it has more than ${LONGEST} characters`);
  if (!word.startsWith(PREFIX)) {
    const other = /^fjord\d+\./.test(word);
    throw unreadable(other ? "it is of another version of Fjord" : `it does not begin with ${PREFIX}`);
  }
  const { i: site, e, s: secret, x } = decode(word.slice(PREFIX.length));
  if (!isSiteId(site)) throw unreadable("it names no site");
  if (!isSecret(secret)) throw unreadable("its secret is cut off or changed");
  if (typeof x !== "number" || !Number.isInteger(x) || x < 0 || x > LATEST) throw unreadable("it has no expiry");
  return { site, endpoints: endpointsOf(e), secret, expires: x * 1000 };
}

/** Whether a value has the shape of a token's secret. */
export function isSecret(value: unknown): value is string {
  return typeof value === "string" && SECRET.test(value);
}

function decode(text: string): Record<string, unknown> {
  // A decoder would skip what it does not know, and find a token in what is none.
  if (!BASE64URL.test(text)) throw unreadable("it has characters that no token has");
  const bytes = Buffer.from(text, "base64url");
  // It also passes over a last character that is one too many, or of which some bits are.
  if (bytes.toString("base64url") !== text) throw unreadable("it is cut off or changed");
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below; the parser's message would quote the secret.
  }
  throw unreadable("it is cut off or changed");
}

function endpointsOf(value: unknown): string[] {
  try {
    return checkEndpoints(value);
  } catch (error) {
    throw new TokenUnreadable({ problem: "one of its endpoints cannot be used" }, { cause: error });
  }
}

function unreadable(problem: string) {
  return new TokenUnreadable({ problem });
}
