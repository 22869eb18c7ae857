import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";

const BODY_LIMIT = 64 * 1024;

/** What every answer says: nothing from elsewhere, in no frame, no guessing. */
export function securityHeaders(nonce: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    // The terminal makes style elements while it runs; they carry the nonce.
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
  };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}

/** The JSON object that was sent; undefined where it is none, or longer than anything that is asked for here. */
export async function readJson(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_LIMIT) return undefined;
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  for (const part of (headers.cookie ?? "").split(";")) {
    const [key = "", ...value] = part.trim().split("=");
    if (key === name) return value.join("=");
  }
  return undefined;
}

/** What is asked for; undefined where it is no path. */
export function urlOf({ url = "/" }: IncomingMessage): URL | undefined {
  return (url.startsWith("/") && URL.parse(`http://page${url}`)) || undefined;
}

/** Whether the page is asked for by a name of its own: another one may have been made to point here (DNS rebinding). */
export function isOwnHost(host: string | undefined, names: readonly string[]): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  const bare = hostname.replace(/^\[|\]$/g, "");
  return bare === "localhost" || isIP(bare) !== 0 || names.includes(bare);
}

/** Whether a request that changes something, or opens a stream both ways, comes from the page itself. */
export function isFromPage({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin") return false;
  const { origin, host } = headers;
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}
