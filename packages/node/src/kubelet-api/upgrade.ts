import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { InvalidRequest, ProtocolNotSpoken } from "./errors.ts";

/** Clients send little in one message, but may. */
const LONGEST_MESSAGE = 1024 * 1024;

export type UpgradeKind = "spdy" | "websocket";

/** What the request wants its connection to become; undefined where it is nothing that we speak. */
export function upgradeKind({ headers }: IncomingMessage): UpgradeKind | undefined {
  const wanted = (headers.upgrade ?? "").toLowerCase();
  if (wanted === "websocket") return "websocket";
  return wanted === "spdy/3.1" ? "spdy" : undefined;
}

/**
 * The first of the client's protocols that we speak. `fallback` is for clients that name none, and only they get it
 * where it is not among ours.
 */
export function chooseProtocol(request: IncomingMessage, ours: readonly string[], fallback: string): string {
  const header = upgradeKind(request) === "spdy" ? "x-stream-protocol-version" : "sec-websocket-protocol";
  const text = [request.headers[header] ?? []].flat().join(",");
  const theirs = text.split(",").flatMap((name) => name.trim() || []);
  if (theirs.length === 0) return fallback;
  const chosen = theirs.find((name) => ours.includes(name));
  if (chosen === undefined) {
    const client = theirs.join(" ").slice(0, 200);
    throw new ProtocolNotSpoken({ client, server: ours.join(" ") });
  }
  return chosen;
}

/** Tells the client that its connection now carries SPDY. */
export function switchToSpdy(socket: Duplex, head: Buffer, protocol: string): Duplex {
  if (head.length > 0) socket.unshift(head);
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n" +
      `X-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  return socket;
}

/** Makes WebSockets out of connections. What it needs is loaded with the first of them: few nodes ever see one. */
export class WebSocketUpgrader {
  #server: Promise<WebSocketServer> | undefined;

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, protocol: string): Promise<WebSocket> {
    if (!isHandshake(request)) throw new InvalidRequest({ problem: "the WebSocket handshake is not complete" });
    this.#server ??= load();
    const server = await this.#server;
    // Whoever takes the messages is set up right after this, so that none is missed.
    return await new Promise((resolve, reject) => {
      socket.once("close", () => reject(new InvalidRequest({ problem: "the client left during the handshake" })));
      request.headers["sec-websocket-protocol"] = protocol;
      if (protocol === "") delete request.headers["sec-websocket-protocol"];
      server.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.pause();
        webSocket.on("error", () => {});
        resolve(webSocket);
      });
    });
  }
}

/** The library answers the client itself where something is missing, and tells nobody. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  const { "sec-websocket-key": key, "sec-websocket-version": version } = headers;
  return method === "GET" && /^[+/0-9A-Za-z]{22}==$/.test(key ?? "") && (version === "13" || version === "8");
}

async function load(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import("ws");
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LONGEST_MESSAGE,
    handleProtocols: (protocols) => [...protocols][0] ?? false,
  });
}
