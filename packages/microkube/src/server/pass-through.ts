import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { describeError } from "@fjord/base";
import { StatusError } from "../status-error.ts";
import type { Exchange } from "./exchange.ts";
import { http } from "./node-http.ts";

/** Where a request is passed on to. */
export interface Destination {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** With the query. */
  readonly path: string;
  /** As whom; without it, as nobody. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Whom to trust, in PEM; without it, everybody: kubelets and pods sign their certificates themselves. */
  readonly ca?: string;
  /** The name in the other side's certificate, where it is not the host. */
  readonly servername?: string;
  /** Beyond those of the request. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** What the request is passed on without: by default its credentials. */
  readonly drops?: readonly string[];
  /** What is told of an answer that is no success; without it, the answer as it is. */
  readonly refusal?: (code: number, text: string) => StatusError;
}

/** As much as is read of an answer that is a refusal. */
const LONGEST_REFUSAL = 50_000;

const hopByHop = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];
const credentials = ["authorization", "x-remote-user", "x-remote-group", "x-remote-uid"];

/** Passes a request on as it is, and the answer back, upgraded connections included. */
export async function passThrough(exchange: Exchange, destination: Destination): Promise<void> {
  const { request, response, upgrade } = exchange;
  const outgoing = open(exchange, destination);
  await new Promise<void>((resolve, reject) => {
    let hasAnswered = false;
    outgoing.on("error", (error) => {
      if (hasAnswered) return resolve();
      const message = `error trying to reach service: ${describeError(error)}`;
      reject(new StatusError(503, "ServiceUnavailable", message));
    });
    outgoing.on("response", (answer) => {
      hasAnswered = true;
      const { statusCode = 502 } = answer;
      if (destination.refusal !== undefined && (statusCode < 200 || statusCode > 206)) {
        const { refusal } = destination;
        return void textOf(answer).then((text) => reject(refusal(statusCode, text)));
      }
      sendBack(exchange, answer);
      answer.on("close", resolve);
    });
    outgoing.on("upgrade", (answer, socket, head) => {
      hasAnswered = true;
      if (upgrade === undefined) {
        socket.destroy();
        return reject(new StatusError(502, "BadGateway", "the other side wants to upgrade, the client does not"));
      }
      exchange.audit?.started(101);
      upgrade.detach();
      upgrade.socket.write(headOf(answer));
      if (head.length > 0) upgrade.socket.write(head);
      if (upgrade.head.length > 0) socket.write(upgrade.head);
      join(upgrade.socket, socket, resolve);
    });
    response.on("close", () => {
      if (upgrade === undefined && !response.writableFinished) outgoing.destroy();
    });
    if (upgrade !== undefined) outgoing.end();
    else Readable.from(request, { objectMode: false }).pipe(outgoing);
  });
}

function open({ request, upgrade, method }: Exchange, destination: Destination): ClientRequest {
  const { scheme, host, port, path, certificate, ca, servername, headers = {}, drops = credentials } = destination;
  const options = {
    host,
    port,
    path,
    method,
    headers: { ...passedHeaders(request.headers, drops, upgrade !== undefined), host: `${host}:${port}`, ...headers },
    agent: false as const,
    setDefaultHeaders: false,
  };
  const made =
    scheme === "http" ? http.request(options) : requestHttps({ ...options, ...tls(certificate, ca, servername) });
  made.setNoDelay(true);
  return made;
}

function tls(certificate: Destination["certificate"], ca: string | undefined, servername: string | undefined) {
  return {
    ...certificate,
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
    ...(servername !== undefined && { servername }),
  };
}

function passedHeaders(
  headers: IncomingHttpHeaders,
  drops: readonly string[],
  isUpgrade: boolean,
): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  const isDropped = (name: string) =>
    drops.includes(name) || name.startsWith("impersonate-") || name.startsWith("x-remote-extra-");
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || hopByHop.includes(name) || isDropped(name)) continue;
    passed[name] = value;
  }
  if (isUpgrade) {
    passed.connection = "Upgrade";
    if (headers.upgrade !== undefined) passed.upgrade = headers.upgrade;
  } else if (headers["transfer-encoding"] !== undefined) passed["transfer-encoding"] = "chunked";
  return passed;
}

function sendBack({ response, upgrade, audit }: Exchange, answer: IncomingMessage): void {
  audit?.started(answer.statusCode ?? 502);
  const headers: string[] = [];
  for (let at = 0; at < answer.rawHeaders.length; at += 2) {
    const name = answer.rawHeaders[at] as string;
    if (!hopByHop.includes(name.toLowerCase())) headers.push(name, answer.rawHeaders[at + 1] as string);
  }
  if (upgrade !== undefined) headers.push("Connection", "close");
  response.writeHead(answer.statusCode ?? 502, headers);
  response.flushHeaders();
  answer.pipe(response as unknown as NodeJS.WritableStream);
}

/** The beginning of what it says. */
async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= LONGEST_REFUSAL) break;
    }
  } catch {
    // Cut off: what was said until then will do.
  }
  return Buffer.concat(chunks).subarray(0, LONGEST_REFUSAL).toString();
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** So long a client has for the last of what it was told, and to hang up itself. */
const LINGER_MS = 10_000;

/**
 * Two connections as one: what ends or breaks on one side does on the other. What was said before a proper end still reaches
 * the client: closed with bytes that nobody has read, its connection would be reset, and lose what is on its way.
 */
export function join(client: Connection, other: Connection, done: () => void): void {
  client.pipe(other);
  other.pipe(client);
  client.on("error", () => other.destroy());
  // What the client still says to one that has ended goes nowhere, and takes nothing from what that one said.
  other.on("end", () => client.unpipe(other).resume());
  other.on("error", () => {
    if (!other.readableEnded) client.destroy();
  });
  client.on("close", () => {
    other.destroy();
    done();
  });
  other.on("close", () => {
    if (!other.readableEnded) return void client.destroy();
    const cut = setTimeout(() => client.destroy(), LINGER_MS).unref();
    client.once("close", () => clearTimeout(cut));
  });
}

type Connection = NodeJS.ReadWriteStream & { readonly readableEnded: boolean; destroy(): unknown };
