import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { describeError } from "@fjord/base";
import { isKubeletApiError } from "./errors.ts";
import type { FailureLog } from "./failure-log.ts";

/** The HTTP status and the text for whatever was thrown. */
export function refusal(thrown: unknown): { status: number; text: string } {
  if (isKubeletApiError(thrown)) return { status: thrown.status, text: describeError(thrown) };
  return { status: 500, text: `Internal error: ${describeError(thrown)}` };
}

export function sendText(response: ServerResponse, status: number, text: string, type = "text/plain"): void {
  const body = Buffer.from(text);
  response.writeHead(status, {
    "content-type": type.includes("charset") ? type : `${type}; charset=utf-8`,
    "content-length": body.length,
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}

export function sendJson(response: ServerResponse, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

/** Refuses a request whose answer has not begun; one that has is cut off, so that it does not look whole. */
export function sendRefusal(response: ServerResponse, thrown: unknown, log: FailureLog): void {
  const { status, text } = refusal(thrown);
  if (status >= 500) log.failed("a request to the kubelet API failed", text);
  // Strangers must not keep connections that others need.
  if (status === 401 && !response.headersSent) response.setHeader("connection", "close");
  if (response.headersSent) response.destroy();
  else sendText(response, status, `${text}\n`);
}

/** The same on a connection that was to be upgraded. */
export function sendUpgradeRefusal(socket: Duplex, thrown: unknown, log: FailureLog): void {
  const { status, text } = refusal(thrown);
  if (status >= 500) log.failed("a stream of the kubelet API failed", text);
  if (!socket.writable) return;
  const body = Buffer.from(`${text}\n`);
  const head = `HTTP/1.1 ${status} ${status < 500 ? "Refused" : "Failed"}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n`;
  socket.end(Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]));
  // Unread bytes would make the kernel reset the connection, and the client miss the answer.
  socket.resume();
}
