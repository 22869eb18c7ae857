import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";
import { ProxyRefused } from "./errors.ts";

/** Opens a connection to a host and port; replaced where a cluster is reached by other means than TCP. */
export type Dial = (host: string, port: number, signal: AbortSignal) => Promise<Duplex>;

/** Connects as the configuration says: through its proxy, under its TLS settings. */
export async function dialCluster(
  config: ClusterConfig,
  credential: Credential | undefined,
  signal: AbortSignal,
  dial: Dial = config.proxy === undefined ? dialTcp : dialProxy(config.proxy),
): Promise<Duplex> {
  const url = new URL(config.server);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const secure = url.protocol === "https:";
  const connection = await dial(host, Number(url.port || (secure ? 443 : 80)), signal);
  if (!secure) return connection;
  const { ca, cert, key, serverName = isIP(host) === 0 ? host : undefined, insecureSkipVerify } = config.tls;
  const options: ConnectionOptions = {
    ca,
    cert: credential?.cert ?? cert,
    key: credential?.key ?? key,
    servername: serverName,
    // Checked against the certificate where the URL holds an address.
    host,
    rejectUnauthorized: insecureSkipVerify !== true,
  };
  return secured(connection, options, signal);
}

async function secured(connection: Duplex, options: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
  const socket = connectTls({ ...options, socket: connection });
  try {
    await once(socket, "secureConnect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    connection.destroy();
    throw error;
  }
}

async function dialTcp(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host, port });
  socket.setNoDelay(true);
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function dialProxy(proxy: string): Dial {
  const { protocol, hostname, port, username, password, host: proxyHost } = new URL(proxy);
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization =
    username === "" ? {} : { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
  const request = protocol === "https:" ? httpsRequest : httpRequest;
  return (host, targetPort, signal) =>
    new Promise((resolve, reject) => {
      const target = `${isIP(host) === 6 ? `[${host}]` : host}:${targetPort}`;
      const refuse = (reason: string, cause?: unknown) =>
        reject(signal.aborted ? signal.reason : new ProxyRefused({ proxy: proxyHost, target, reason }, { cause }));
      const connect = request({
        host: hostname.replace(/^\[|\]$/g, ""),
        port: port || (protocol === "https:" ? 443 : 80),
        method: "CONNECT",
        path: target,
        headers: { host: target, ...authorization },
        agent: false,
        signal,
      });
      connect.on("connect", (response, socket, head) => {
        if (response.statusCode === 200) {
          if (head.length > 0) socket.unshift(head);
          return resolve(socket);
        }
        socket.destroy();
        refuse(`it answered ${response.statusCode} ${response.statusMessage ?? ""}`.trim());
      });
      connect.on("error", (error) => refuse(error.message, error));
      connect.end();
    });
}
