import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Clock, describeError, systemClock } from "@fjord/base";
import { WebSocket } from "ws";
import { apiErrorFromBody } from "../client/api-error.ts";
import type { ClusterConfig, Credential } from "../config/cluster-config.ts";
import { mergeHeaders } from "../config/headers.ts";
import { type Connect, clusterConnect, type Dial } from "../transport/dial.ts";
import { ConnectionError } from "../transport/errors.ts";
import { retryAfterSeconds } from "../transport/http.ts";
import { redact } from "../transport/redaction.ts";
import { StreamProtocol } from "./errors.ts";

export interface StreamOptions {
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** How long the server may take to agree. @default 30000 */
  readonly handshakeTimeoutMs?: number;
  /** How often the server is asked for a sign of life. @default 15000 */
  readonly pingIntervalMs?: number;
  /** Opens connections instead of plain TCP, for instance through a tunnel; TLS is still made here. */
  readonly dial?: Dial;
  /** Gives connections that are ready for HTTP; the configuration's TLS settings and proxy are not used then. */
  readonly connect?: Connect;
}

export interface OpenRequest extends StreamOptions {
  /** Below the server's base URL, with the query. */
  readonly path: string;
  readonly protocols: readonly string[];
  /** What errors say was attempted. */
  readonly action: string;
}

const bodyLimit = 64 * 1024;
/** Kubernetes sends frames of some 32 KiB. */
const frameLimit = 16 * 1024 * 1024;

/** Opens a WebSocket to the API server. It is paused, so that nothing is missed before somebody listens. */
export async function openSocket(config: ClusterConfig, request: OpenRequest): Promise<WebSocket> {
  for (let refused = false; ; refused = true) {
    request.signal?.throwIfAborted();
    const credential = await config.credentials?.current();
    const headers = mergeHeaders(config.headers, { authorization: credential?.authorization });
    const outcome = await handshake(config, credential, headers, request);
    if (outcome instanceof WebSocket) return outcome;
    if (outcome.statusCode !== 401 || refused || config.credentials === undefined)
      throw refusal(request, { ...outcome, body: redact(outcome.body, headers) });
    config.credentials.rejected();
  }
}

interface Refusal {
  statusCode: number;
  headers: IncomingMessage["headers"];
  body: string;
}

function handshake(
  config: ClusterConfig,
  credential: Credential | undefined,
  headers: Record<string, string | string[]>,
  request: OpenRequest,
): Promise<WebSocket | Refusal> {
  const { action, signal, clock = systemClock, handshakeTimeoutMs = 30_000 } = request;
  const { server } = config;
  return new Promise((resolve, reject) => {
    const cancel = new AbortController();
    let connected = false;
    const socket = new WebSocket(`${server}${request.path}`, [...request.protocols], {
      headers,
      perMessageDeflate: false,
      maxPayload: frameLimit,
      // Answered by whoever takes the socket over, as far as the other side reads the answers.
      autoPong: false,
      createConnection: connector(
        async () => (request.connect ?? clusterConnect(config, credential, request.dial))(cancel.signal),
        () => {
          connected = true;
        },
      ),
    });
    const settle = <T>(how: (value: T) => void, value: T) => {
      stopTimer();
      signal?.removeEventListener("abort", onAbort);
      how(value);
    };
    const fail = (reason: unknown) => {
      settle(reject, reason);
      cancel.abort(reason);
      socket.terminate();
    };
    const onAbort = () => fail(signal?.reason);
    const stopTimer = clock.after(handshakeTimeoutMs, () => {
      const reason = `the server did not agree within ${handshakeTimeoutMs / 1000} s`;
      fail(new ConnectionError({ action, server, reason, sent: true }));
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.on("open", () => {
      socket.pause();
      settle(resolve, socket);
    });
    socket.on("unexpected-response", (_, response) => {
      readBody(response).then(
        (body) => {
          settle(resolve, { statusCode: response.statusCode ?? 0, headers: response.headers, body });
          socket.terminate();
        },
        (cause) => fail(new ConnectionError({ action, server, cause, sent: true })),
      );
    });
    socket.on("error", (cause) => settle(reject, handshakeError(action, server, cause, connected)));
  });
}

function handshakeError(action: string, server: string, cause: Error, sent: boolean): Error {
  if (/subprotocol|Sec-WebSocket|Upgrade header/i.test(cause.message)) {
    return new StreamProtocol({ action, server, problem: describeError(cause) }, { cause });
  }
  // OpenSSL's own message is a line of numbers around this.
  const reason = "library" in cause && "reason" in cause ? String(cause.reason) : undefined;
  return new ConnectionError({ action, server, reason, cause, sent });
}

function refusal(request: OpenRequest, { statusCode, headers, body }: Refusal): Error {
  const { action, clock = systemClock } = request;
  return apiErrorFromBody(action, statusCode, body, retryAfterSeconds(headers, clock.now()));
}

type Connected = (error: Error | null, connection?: Duplex) => void;

// Node takes a connection that comes later from a callback, which its types do not tell for this option.
function connector(dial: () => Promise<Duplex>, onConnected: () => void): () => never {
  const connect = (_: unknown, connected: Connected): undefined => {
    dial().then((connection) => {
      onConnected();
      connected(null, connection);
    }, connected);
  };
  return connect as unknown as () => never;
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= bodyLimit) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}
