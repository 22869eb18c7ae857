import type { HttpHeaders } from "./http.ts";
import type { WireRequest } from "./wire.ts";

/** The lines before a request's body, in Latin-1. Throws where they would not be one request's. */
export function requestHead(request: WireRequest, host: string, more: Readonly<Record<string, string>>): string {
  const { method, path, headers, body } = request;
  if (!PATH.test(path)) throw new TypeError(`a path cannot be sent unless it is escaped: ${JSON.stringify(path)}`);
  let head = `${method} ${path} HTTP/1.1\r\n`;
  if (headerOf(headers, "host") === undefined) head += `host: ${host}\r\n`;
  head += "connection: keep-alive\r\n";
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    if (typeof value === "string") head += headerLine(name, value);
    else for (const one of value) head += headerLine(name, one);
  }
  for (const name in more) head += headerLine(name, more[name] as string);
  if (body !== undefined) head += `content-length: ${Buffer.byteLength(body)}\r\n`;
  else if (method !== "GET" && method !== "HEAD") head += "content-length: 0\r\n";
  return `${head}\r\n`;
}

function headerOf(headers: HttpHeaders, wanted: string): unknown {
  for (const name in headers) if (name.length === wanted.length && name.toLowerCase() === wanted) return headers[name];
  return undefined;
}

function headerLine(name: string, value: string): string {
  // The value may be a secret, and is not shown.
  if (!NAME.test(name)) throw new TypeError(`${JSON.stringify(name)} is not the name of a header`);
  if (!VALUE.test(value)) throw new TypeError(`the value of the header ${name} has characters that no header can hold`);
  if (FRAMING.test(name)) throw new TypeError(`the header ${name} is not the caller's to send`);
  return `${name}: ${value}\r\n`;
}

const PATH = /^[!-~]+$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const FRAMING = /^(?:connection|content-length|transfer-encoding|upgrade|expect)$/i;
