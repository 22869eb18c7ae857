import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type Clock, readCertificate } from "@fjord/base";
import type { Caller } from "../cluster.ts";
import type { Authority } from "./authority.ts";
import { certificateProblem, peerCertificate } from "./client-certificate.ts";

export interface FrontProxyOptions {
  readonly authority: Authority;
  readonly clock: Clock;
  /** Common names that may speak for others. @default every certificate of the authority */
  readonly allowedNames?: readonly string[];
}

/** Believes `X-Remote-User` and its like from whoever has a certificate of the front proxy's authority. */
export class FrontProxy {
  readonly #options: FrontProxyOptions;

  constructor(options: FrontProxyOptions) {
    this.#options = options;
  }

  authenticate(request: IncomingMessage): Caller | undefined {
    const { authority, clock, allowedNames = [] } = this.#options;
    // Checked first: nearly no request has it, and the certificate need not be looked at.
    if (request.headers["x-remote-user"] === undefined) return undefined;
    const x509 = peerCertificate(request);
    if (x509 === undefined || certificateProblem(x509, authority, clock.now()) !== undefined) return undefined;
    const { commonName } = readCertificate(x509.raw).subject;
    if (allowedNames.length > 0 && !allowedNames.includes(commonName)) {
      throw new Error(`x509: subject with cn=${commonName} is not in the allowed list`);
    }
    return remoteCaller(request.headers, request.headersDistinct);
  }
}

const EXTRA = "x-remote-extra-";

export function remoteCaller(headers: IncomingHttpHeaders, distinct: NodeJS.Dict<string[]>): Caller | undefined {
  const [user] = distinct["x-remote-user"] ?? [];
  if (user === undefined || user === "") return undefined;
  const [uid] = distinct["x-remote-uid"] ?? [];
  const extra = Object.fromEntries(
    Object.keys(headers)
      .filter((name) => name.startsWith(EXTRA))
      .map((name) => [unescapeKey(name.slice(EXTRA.length)), distinct[name] ?? []]),
  );
  return {
    user,
    ...(uid && { uid }),
    groups: distinct["x-remote-group"] ?? [],
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

/** The headers that tell an aggregated API server who asks; the other direction of the above. */
export function remoteHeaders({ user, uid, groups, extra = {} }: Caller): Record<string, string | string[]> {
  const names = Object.entries(extra).map(
    ([key, values]) => [`X-Remote-Extra-${escapeKey(key)}`, [...values]] as const,
  );
  return {
    "X-Remote-User": user,
    ...(uid !== undefined && uid !== "" && { "X-Remote-Uid": uid }),
    "X-Remote-Group": [...groups],
    ...Object.fromEntries(names),
  };
}

/** Header names are lower case by now; upper case and odd characters of a key come percent-encoded. */
export function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Percent-encodes what a header name may not hold, and `%`. */
export function escapeKey(key: string): string {
  return key.replace(/[^a-z0-9!#$&'*+.^_`|~-]/gi, (character) =>
    [...Buffer.from(character, "utf8")].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}
