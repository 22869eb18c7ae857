import type { Server, TLSSocket, TlsOptions } from "node:tls";
import type { PeerIdentity, SiteId } from "../site-identity.ts";

/** What peering needs of the TLS between agents. */
export interface PeerTls {
  /** For a server. Any certificate is let in; `identify` then tells whose it is. */
  serverOptions(): TlsOptions;
  /** Gives the server each new certificate until it closes. */
  attach(server: Pick<Server, "setSecureContext" | "once">): void;
  /** Whose key the other side has proven to hold. Throws, with a `reason`, where it is nobody's. */
  identify(socket: TLSSocket): PeerIdentity;
  /** A connection to the site of that id and no other. */
  connect(
    endpoint: string,
    expected: SiteId,
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number; readonly protocols?: readonly string[] },
  ): Promise<TLSSocket>;
}
