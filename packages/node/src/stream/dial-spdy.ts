import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import type { Duplex } from "node:stream";
import { describeError } from "@fjord/base";
import { SpdyConnection, type SpdyOptions } from "../spdy/index.ts";
import { StreamRefused, StreamUnreachable } from "./errors.ts";

const TEXT_LIMIT = 4096;
const DIAL_TIMEOUT_MS = 30_000;

export interface DialSpdyOptions {
  /** `http:` or `https:`; what it holds besides the address is a secret and never told. */
  readonly url: string | URL;
  /** Kubernetes' names of what is spoken over the streams, the best one first. */
  readonly protocols: readonly string[];
  /** For messages: `run a command in web`. */
  readonly action: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: Pick<import("node:tls").ConnectionOptions, "ca" | "cert" | "key" | "rejectUnauthorized">;
  readonly spdy?: Omit<SpdyOptions, "role" | "onStream">;
  readonly signal?: AbortSignal;
}

export interface SpdyDialog {
  readonly connection: SpdyConnection;
  /** The one of the protocols that the server chose. */
  readonly protocol: string;
}

/** Opens a SPDY connection by an upgrade of HTTP, as servers of streams expect it. */
export async function dialSpdy(options: DialSpdyOptions): Promise<SpdyDialog> {
  options.signal?.throwIfAborted();
  const url = new URL(options.url);
  const secure = url.protocol === "https:";
  const send = secure ? (await import("node:https")).request : process.getBuiltinModule("node:http").request;
  const requestOptions: RequestOptions = {
    method: "POST",
    // Its own connection, which nobody uses again.
    agent: false,
    headers: {
      ...options.headers,
      connection: "Upgrade",
      upgrade: "SPDY/3.1",
      "x-stream-protocol-version": [...options.protocols],
      "content-length": "0",
    },
    ...(secure ? options.tls : {}),
    ...(options.signal && { signal: options.signal }),
    timeout: DIAL_TIMEOUT_MS,
  };
  const { socket, response } = await upgraded(send(url, requestOptions), options, url);
  const protocol = String(response.headers["x-stream-protocol-version"] ?? options.protocols[0]);
  return { connection: new SpdyConnection(socket, { ...options.spdy, role: "client" }), protocol };
}

function upgraded(
  request: ClientRequest,
  { action, signal }: DialSpdyOptions,
  url: URL,
): Promise<{ socket: Duplex; response: IncomingMessage }> {
  const server = url.host;
  return new Promise((resolve, reject) => {
    request.on("upgrade", (response, socket, head) => {
      socket.setTimeout?.(0);
      if (head.length > 0) socket.unshift(head);
      resolve({ socket, response });
    });
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        if (text.length < TEXT_LIMIT) text += part;
      });
      response.on("close", () => {
        const values = { action, server, status: response.statusCode, text: text.trim().slice(0, TEXT_LIMIT) };
        reject(new StreamRefused(values));
      });
    });
    request.on("timeout", () => request.destroy(new Error(`nothing within ${DIAL_TIMEOUT_MS / 1000} s`)));
    request.on("error", (cause) => {
      if (signal?.aborted) return reject(signal.reason);
      reject(new StreamUnreachable({ action, server, reason: describeError(cause) }, { cause }));
    });
    request.end();
  });
}
