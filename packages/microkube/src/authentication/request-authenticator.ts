import type { IncomingMessage } from "node:http";
import type { Caller } from "../cluster.ts";
import { StatusError } from "../status-error.ts";
import type { Authenticator } from "./authenticator.ts";
import type { ClientCertificates } from "./client-certificate.ts";
import type { FrontProxy } from "./front-proxy.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

export const ANONYMOUS: Caller = { user: "system:anonymous", groups: ["system:unauthenticated"] };

export interface RequestAuthenticatorOptions {
  readonly frontProxy?: FrontProxy;
  readonly certificates?: ClientCertificates;
  readonly tokens?: TokenAuthenticator;
  /** Whether requests without any credential are let through to authorisation. @default true */
  readonly anonymous?: boolean;
}

/** Who makes a request, by the first of its credentials that holds. */
export class RequestAuthenticator implements Authenticator {
  readonly #options: RequestAuthenticatorOptions;

  constructor(options: RequestAuthenticatorOptions) {
    this.#options = options;
  }

  async authenticate(request: IncomingMessage): Promise<Caller | undefined> {
    return this.authenticateNow(request);
  }

  /** The same without a turn of the event loop. */
  authenticateNow(request: IncomingMessage): Caller | undefined {
    const { frontProxy, certificates, tokens, anonymous = true } = this.#options;
    let isWrong = false;
    const ways = [
      () => frontProxy?.authenticate(request),
      () => certificates?.authenticate(request),
      () => tokens && tokenCaller(request, tokens),
    ];
    for (const way of ways) {
      try {
        const caller = way();
        if (caller !== undefined) return withAuthenticated(caller);
      } catch {
        // Another credential may still hold; what exactly is wrong with this one is nobody's business.
        isWrong = true;
      }
    }
    if (isWrong) throw unauthorized();
    return anonymous ? ANONYMOUS : undefined;
  }
}

export function unauthorized(): StatusError {
  return new StatusError(401, "Unauthorized", "Unauthorized");
}

/** Everybody who is known belongs to system:authenticated. */
export function withAuthenticated(caller: Caller): Caller {
  const { user, groups } = caller;
  const isSettled = groups.includes("system:authenticated") || groups.includes("system:unauthenticated");
  if (isSettled || user === ANONYMOUS.user) return caller;
  return { ...caller, groups: [...groups, "system:authenticated"] };
}

function tokenCaller(request: IncomingMessage, tokens: TokenAuthenticator): Caller | undefined {
  const token = bearerToken(request);
  if (token === undefined) return undefined;
  const owner = tokens.authenticateToken(token);
  if (owner === undefined) throw new Error("invalid bearer token");
  return owner.caller;
}

const PROTOCOL = "base64url.bearer.authorization.k8s.io.";

/** From the Authorization header; or, because browsers cannot set it, from the protocols of a WebSocket. */
export function bearerToken({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const [scheme, token] = (headers.authorization ?? "").trim().split(" ");
  if (scheme?.toLowerCase() === "bearer" && token) return token;
  const protocols = headers.upgrade === undefined ? "" : (headers["sec-websocket-protocol"] ?? "");
  const offered = protocols.split(",").map((protocol) => protocol.trim());
  const encoded = offered.find((protocol) => protocol.startsWith(PROTOCOL));
  return encoded === undefined ? undefined : Buffer.from(encoded.slice(PROTOCOL.length), "base64url").toString("utf8");
}
