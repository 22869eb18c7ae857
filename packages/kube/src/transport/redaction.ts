import type { HttpHeaders } from "./http.ts";

/** Shorter ones are no secrets, and would be found in everything. */
const SHORTEST_SECRET = 8;
const mask = "[redacted]";

/** What a server answers may hold what we sent, and ends in errors and logs; the credential must not. */
export function redact(text: string, sent: HttpHeaders): string {
  const secret = secretOf(sent);
  return secret === undefined ? text : text.replaceAll(secret, mask);
}

/** The same for bytes, which are left alone where there is nothing to hide. */
export function redactBytes(bytes: Buffer, sent: HttpHeaders): Buffer {
  const secret = secretOf(sent);
  if (secret === undefined || !bytes.includes(secret)) return bytes;
  return Buffer.from(bytes.toString("latin1").replaceAll(Buffer.from(secret).toString("latin1"), mask), "latin1");
}

function secretOf(sent: HttpHeaders): string | undefined {
  for (const [name, value] of Object.entries(sent)) {
    if (name.toLowerCase() !== "authorization" || typeof value !== "string") continue;
    const secret = value.slice(value.indexOf(" ") + 1);
    if (secret.length >= SHORTEST_SECRET) return secret;
  }
  return undefined;
}
