import { once } from "node:events";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, createSecureContext, type TLSSocket } from "node:tls";
import { describeError } from "@fjord/base";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";
import { ProxyRefused, UnusableCertificate } from "./errors.ts";

/**
 * Gives a connection that HTTP can be spoken over at once: what the two sides agree on of `protocols` (ALPN, the best first),
 * and HTTP/1.1 where none are given.
 */
export type Connect = (signal: AbortSignal, protocols?: readonly string[]) => Duplex | Promise<Duplex>;

/** Opens a connection to a host and port; replaced where a cluster is reached by other means than TCP. */
export type Dial = (host: string, port: number, signal: AbortSignal) => Promise<Duplex>;

/** How to send a plain request by way of a forward proxy, which is told the whole URL. */
export interface PlainProxy {
  readonly connect: Connect;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Connects as the configuration says: through its proxy, under its TLS settings. A new connection resumes the TLS
 * session of the one before.
 */
export function clusterConnect(config: ClusterConfig, credential: Credential | undefined, dial?: Dial): Connect {
  const url = new URL(config.server);
  const secure = url.protocol === "https:";
  const { host, port } = hostAndPort(url);
  const way = dial ?? (config.proxy === undefined ? undefined : dialProxy(config.proxy));
  if (!secure) return (signal) => (way ?? dialTcp)(host, port, signal);
  const options = tlsOptions(config, credential, host);
  let session: Buffer | undefined;
  return async (signal, protocols = ["http/1.1"]) => {
    const connection = await way?.(host, port, signal);
    const place = connection === undefined ? { port } : { socket: connection };
    const socket = connectTls({ ...options, ...place, session, ALPNProtocols: [...protocols] });
    socket.on("session", (ticket) => {
      session = ticket;
    });
    return await opened(socket, "secureConnect", signal, connection);
  };
}

/** For a server without TLS, whose requests a proxy reads and passes on. */
export function plainProxy(proxy: string): PlainProxy {
  return { connect: proxyConnect(new URL(proxy)), headers: proxyCredentials(new URL(proxy)) };
}

function tlsOptions(config: ClusterConfig, credential: Credential | undefined, host: string): ConnectionOptions {
  const { ca, serverName, insecureSkipVerify } = config.tls;
  const cert = credential?.cert ?? config.tls.cert;
  const key = credential?.key ?? config.tls.key;
  try {
    return {
      secureContext: createSecureContext({ ca, cert, key }),
      servername: serverName ?? (isIP(host) === 0 ? host : undefined),
      // Checked against the certificate where the URL holds an address.
      host,
      rejectUnauthorized: insecureSkipVerify !== true,
    };
  } catch (cause) {
    throw new UnusableCertificate({ server: config.server, reason: describeError(cause) }, { cause });
  }
}

function dialTcp(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return opened(connectTcp({ host, port }), "connect", signal);
}

/** Waits until it is usable; what never becomes so is ended, with what it was made over. */
async function opened<S extends Socket | TLSSocket>(
  socket: S,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
  below?: Duplex,
): Promise<S> {
  // Without delay: a request is written in one or two pieces, and an answer is waited for.
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    // A handshake that is cut short may still fail.
    socket.on("error", () => {});
    socket.destroy();
    below?.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

function proxyConnect(proxy: URL): Connect {
  const { host, port } = hostAndPort(proxy);
  if (proxy.protocol !== "https:") return (signal) => dialTcp(host, port, signal);
  const servername = isIP(host) === 0 ? host : undefined;
  return (signal) =>
    opened(connectTls({ host, port, servername, ALPNProtocols: ["http/1.1"] }), "secureConnect", signal);
}

function proxyCredentials({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
}

function dialProxy(proxy: string): Dial {
  const url = new URL(proxy);
  const connectToProxy = proxyConnect(url);
  return async (host, port, signal) => {
    const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    const refused = (reason: string, cause?: unknown) =>
      signal.aborted ? signal.reason : new ProxyRefused({ proxy: url.host, target, reason }, { cause });
    try {
      const connection = await connectToProxy(signal);
      const answer = await askForTunnel(connection, target, proxyCredentials(url), signal);
      if (answer === undefined) return connection;
      connection.destroy();
      throw refused(`it answered ${answer}`);
    } catch (error) {
      throw error instanceof ProxyRefused ? error : refused(describeError(error), error);
    }
  };
}

/** The status with which the proxy refused, if it did. */
function askForTunnel(
  connection: Duplex,
  target: string,
  credentials: Record<string, string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  // As a plain import it would load all of fetch, by Node's own getters.
  const { request } = process.getBuiltinModule("node:http");
  return new Promise((resolve, reject) => {
    const asked = request({
      createConnection: () => connection as Socket,
      method: "CONNECT",
      path: target,
      headers: { host: target, ...credentials },
      signal,
    });
    asked.on("connect", ({ statusCode = 0, statusMessage = "" }, _, head) => {
      if (head.length > 0) connection.unshift(head);
      resolve(statusCode === 200 ? undefined : `${statusCode} ${statusMessage}`.trim());
    });
    asked.on("response", ({ statusCode = 0, statusMessage = "" }) => resolve(`${statusCode} ${statusMessage}`.trim()));
    asked.on("error", reject);
    asked.end();
  });
}

function hostAndPort(url: URL): { host: string; port: number } {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port: Number(url.port || (url.protocol === "https:" ? 443 : 80)) };
}

const TCP_KEEP_ALIVE_MS = 60_000;
