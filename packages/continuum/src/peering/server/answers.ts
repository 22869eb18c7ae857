import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { PeerRoute } from "../../peer-routes.ts";
import { LARGEST_BODY, type Refusal } from "../../protocol.ts";

export function refused(statusCode: number, code: string, message: string): PeerRefused {
  return new PeerRefused({ code, message }, statusCode);
}

/** A body that is larger counts as so many questions more: what is in it is looked at one by one. */
const BYTES_OF_A_QUESTION = 4 * 1024;

/** As how many questions a body counts. One whose length is not told may be as large as any. */
export function bodyCost({ headers }: Pick<IncomingMessage, "headers">): number {
  const told = headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : LARGEST_BODY;
  return Math.floor(Math.min(told, LARGEST_BODY) / BYTES_OF_A_QUESTION);
}

/** The body as JSON; undefined where there is none. */
export async function readJson(request: IncomingMessage, limit = LARGEST_BODY): Promise<unknown> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(request)) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json\b/i.test(type)) throw refused(415, "NotJson", "the body must be application/json");
  try {
    return JSON.parse(Buffer.concat(chunks, size).toString("utf8"));
  } catch (error) {
    throw refused(400, "NotJson", `the body is not JSON: ${(error as Error).message}`);
  }
}

/** A body as it comes. Who stops before its end has the rest thrown away, and the connection stays for the answer. */
export async function* chunksOf(request: IncomingMessage): AsyncGenerator<Buffer, void, void> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } finally {
    request.resume();
  }
}

function tooLarge(limit: number): PeerRefused {
  return refused(413, "TooLarge", `the body is larger than ${limit} bytes`);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value ?? null), "utf8");
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

/** What is left of a body is read and thrown away up to here, so that who sends it comes to read the answer. */
const LEFT_BODY = 16 * 1024 * 1024;

/** For an answer that is given before all of the request has come: the rest is read for nothing, or not at all. */
export function leaveBody(response: ServerResponse): void {
  const { complete, headers } = response.req;
  const left = headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : LEFT_BODY + 1;
  if (!complete && left > LEFT_BODY) response.setHeader("connection", "close");
}

/** Said by an agent of a site with several that is not the one to decide. */
const NOT_LEADING = "NotLeading";

/** Refuses, in the words of the protocol. */
export function sendRefusal(response: ServerResponse, status: number, refusal: Refusal, retryAfter?: number): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  leaveBody(response);
  // Behind one address there may be another that does: the next question is to find it.
  if (refusal.code === NOT_LEADING) response.setHeader("connection", "close");
  if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
  sendJson(response, status, refusal);
}

/** Refuses on a bare connection, for who asked for an upgrade. */
export function refuseUpgrade(socket: Duplex, status: number, refusal: Refusal): void {
  const body = JSON.stringify(refusal);
  socket.end(
    `HTTP/1.1 ${status} ${reasonPhrase(status)}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

export function reasonPhrase(status: number): string {
  return process.getBuiltinModule("node:http").STATUS_CODES[status] ?? "Unknown";
}

/** The same route, which only the agent that leads answers: what it decides, no other may decide at the same time. */
export function leaderOnly(route: PeerRoute, leads: () => boolean): PeerRoute {
  return {
    ...route,
    handle: async (call) => {
      if (leads()) return route.handle(call);
      throw refused(503, NOT_LEADING, "this agent does not lead at the moment: ask again");
    },
  };
}
