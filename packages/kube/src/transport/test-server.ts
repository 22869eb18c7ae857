import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Every request so far, in order. */
  readonly requests: Received[];
  /** Open and closed, in order. */
  readonly sockets: Socket[];
}

export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  rawHeaders: string[];
  body: string;
  socket: Socket;
}

export type Answer = (request: Received, response: ServerResponse, index: number) => void;

/** A local HTTP(S) server for a test, which sees each request whole before it answers. */
export async function testServer(answer: Answer, tls?: ServerOptions): Promise<TestServer> {
  const requests: Received[] = [];
  const sockets: Socket[] = [];
  const listener: RequestListener = (message, response) => {
    let body = "";
    message.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    message.on("end", () => {
      const { method = "", url = "", headers, rawHeaders, socket } = message;
      const received = { method, url, headers, rawHeaders, body, socket };
      requests.push(received);
      answer(received, response, requests.length - 1);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    server,
    requests,
    sockets,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers with JSON. */
export function reply(response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

/** Waits for something that another part of the test brings about. */
export async function until(condition: () => boolean, ms = 30_000): Promise<void> {
  const end = Date.now() + ms;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not so after ${ms} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
