import { createHash, type X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { type Clock, readCertificate, x509Ids } from "@fjord/base";
import type { Caller } from "../cluster.ts";
import type { Authority } from "./authority.ts";

/** The certificate that the client of this connection has shown, and has proven to have the key of. */
export function peerCertificate({ socket }: IncomingMessage): X509Certificate | undefined {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
}

/**
 * Why a certificate does not hold as a client's of this authority; undefined where it does. TLS is served without
 * refusing unknown certificates, because which authority counts depends on what the request claims.
 */
export function certificateProblem(x509: X509Certificate, authority: Authority, now: number): string | undefined {
  if (!authority.hasSigned(x509)) return "x509: certificate signed by unknown authority";
  const { validity, extendedKeyUsage } = readCertificate(x509.raw);
  if (now < validity.from || now > validity.to) return "x509: certificate has expired or is not yet valid";
  const isClient = extendedKeyUsage === undefined || extendedKeyUsage.includes(x509Ids.clientAuth);
  return isClient ? undefined : "x509: certificate specifies an incompatible key usage";
}

/** Tells callers by client certificates of the cluster's authority: CN is the user, each O a group. */
export class ClientCertificates {
  readonly #authority: Authority;
  readonly #clock: Clock;
  /** Per connection: reading and checking a certificate costs more than a request. */
  readonly #callers = new WeakMap<object, { caller: Caller | undefined; until: number }>();

  constructor(options: { readonly authority: Authority; readonly clock: Clock }) {
    this.#authority = options.authority;
    this.#clock = options.clock;
  }

  /** undefined: no certificate. Throws an `Error` for one that does not hold. */
  authenticate(request: IncomingMessage): Caller | undefined {
    const now = this.#clock.now();
    const known = this.#callers.get(request.socket);
    if (known !== undefined && now <= known.until) return known.caller;
    const x509 = peerCertificate(request);
    if (x509 === undefined) return undefined;
    const problem = certificateProblem(x509, this.#authority, now);
    if (problem !== undefined) throw new Error(`verifying certificate SN=${serialOf(x509)} failed: ${problem}`);
    const caller = callerOf(x509);
    this.#callers.set(request.socket, { caller, until: readCertificate(x509.raw).validity.to });
    return caller;
  }
}

/** Who a certificate is for; undefined without a common name. */
export function callerOf(x509: X509Certificate): Caller | undefined {
  const { commonName, organizations } = readCertificate(x509.raw).subject;
  if (commonName === "") return undefined;
  const id = `X509SHA256=${createHash("sha256").update(x509.raw).digest("hex")}`;
  return { user: commonName, groups: organizations, extra: { "authentication.kubernetes.io/credential-id": [id] } };
}

const serialOf = (x509: X509Certificate) => BigInt(`0x${x509.serialNumber}`).toString();
