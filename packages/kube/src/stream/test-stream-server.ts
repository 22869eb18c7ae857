import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { caPem, serverCertPem, serverKeyPem } from "../config/test-certificates.ts";

/** One accepted stream, seen from the server. */
export class ServedStream {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  readonly url: URL;
  /** Called for each frame, the ones without content too. */
  onFrame: (channel: number, data: Buffer) => void = () => {};

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    this.url = new URL(request.url ?? "", "http://server");
    socket.on("message", (message: Buffer) => this.onFrame(message[0] ?? -1, message.subarray(1)));
  }

  send(channel: number, data: string | Uint8Array): void {
    this.socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(data)]));
  }

  /** Tells how the command ended and says goodbye, as an API server does. */
  exit(exitCode: number): void {
    this.send(3, JSON.stringify(exitStatus(exitCode)));
    this.socket.close(1000);
  }
}

function exitStatus(exitCode: number): unknown {
  if (exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    reason: "NonZeroExitCode",
    message: `command terminated with non-zero exit code: error executing command, exit code ${exitCode}`,
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}

// A client certificate is welcome and not needed, as for an API server.
const tlsOptions = { ca: caPem, cert: serverCertPem, key: serverKeyPem, requestCert: true, rejectUnauthorized: false };

export interface StreamServerOptions {
  /** The subprotocols that the server knows. @default both */
  protocols?: string[];
  /** @default false */
  tls?: boolean;
  serve?: (stream: ServedStream) => void;
  /** Answers an upgrade by plain HTTP instead. */
  refuse?: (request: IncomingMessage) => { statusCode: number; body: string } | undefined;
  /** Never answers; called when a client is left waiting. */
  ignore?: () => void;
}

/** A WebSocket server that speaks Kubernetes' channel protocols, with what it serves left to the test. */
export async function startStreamServer(options: StreamServerOptions) {
  const known = options.protocols ?? ["v5.channel.k8s.io", "v4.channel.k8s.io"];
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => known.find((protocol) => offered.has(protocol)) ?? false,
  });
  const plain: RequestListener = (_, response) => response.writeHead(404).end();
  const server = options.tls ? createHttpsServer(tlsOptions, plain) : createHttpServer(plain);
  const connections = new Set<Duplex>();
  server.on("connection", (connection: Duplex) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
  });
  server.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on("error", () => {});
    if (options.ignore) {
      connection.on("end", () => connection.destroy()).resume();
      return options.ignore();
    }
    const refusal = options.refuse?.(request);
    if (refusal !== undefined) return answer(connection, refusal.statusCode, refusal.body);
    sockets.handleUpgrade(request, connection, head, (socket) => {
      socket.on("error", () => {});
      options.serve?.(new ServedStream(socket, request));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${options.tls ? "https" : "http"}://127.0.0.1:${port}`,
    get connections() {
      return connections.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate();
      for (const connection of connections) connection.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The body of a refusal, as an API server writes it. */
export function statusBody(code: number, reason: string, message: string): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message });
}

function answer(connection: Duplex, statusCode: number, body: string): void {
  const head = `HTTP/1.1 ${statusCode} Refused\r\ncontent-type: application/json\r\nconnection: close`;
  connection.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
