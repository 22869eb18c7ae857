import type { IncomingHttpHeaders } from "node:http";
import type { HttpHeaders } from "@fjord/kube";
import type { Tenant } from "../../tenants.ts";

/** All that passes from a consumer; who it acts as and how the body is framed is said here, not by it. */
const FROM_CONSUMER = ["content-type", "user-agent"];
const FROM_READER = ["accept", "accept-encoding"];
const HANDSHAKE = [
  "accept",
  "upgrade",
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-protocol",
  "x-stream-protocol-version",
];

const TO_CONSUMER = [
  "content-type",
  "content-length",
  "content-encoding",
  "warning",
  "retry-after",
  "cache-control",
  // What the times are said by that stand in objects.
  "date",
];
const HANDSHAKE_ANSWER = [
  ...TO_CONSUMER,
  "upgrade",
  "connection",
  "sec-websocket-accept",
  "sec-websocket-protocol",
  "x-stream-protocol-version",
];

/** The headers of the request that is made in the tenant's name. */
export function upstreamHeaders(
  asked: IncomingHttpHeaders,
  sort: "read" | "write" | "upgrade",
  identity: HttpHeaders,
): HttpHeaders {
  const names = [...FROM_CONSUMER, ...(sort === "read" ? FROM_READER : sort === "upgrade" ? HANDSHAKE : [])];
  const headers: HttpHeaders = {};
  for (const name of names) {
    const value = asked[name];
    if (value !== undefined) headers[name] = value;
  }
  if (sort === "upgrade") headers.connection = "Upgrade";
  // What is kept is measured by the answer: the whole object, and not the few lines that a writer may ask to see of it.
  if (sort === "write") headers.accept = "application/json";
  return { ...headers, ...identity };
}

/** Who the API server is told that it is: the tenant's service account, with the groups that it has. */
export function impersonating({ user, namespace }: Tenant): HttpHeaders {
  return {
    "impersonate-user": user,
    "impersonate-group": ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}

/** What of an answer's headers the consumer is told. */
export function answerHeaders(answer: IncomingHttpHeaders | HttpHeaders, sort: "plain" | "upgrade"): HttpHeaders {
  const headers: HttpHeaders = {};
  for (const name of sort === "upgrade" ? HANDSHAKE_ANSWER : TO_CONSUMER) {
    const value = answer[name];
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}
