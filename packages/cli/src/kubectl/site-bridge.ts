import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describeError } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { renamedNamespaces } from "./renamed-namespaces.ts";

export interface SiteBridgeOptions {
  readonly site: string;
  /** A connection to the other site's agent, which has proven to be that. */
  readonly connect: () => Promise<Duplex>;
  /** Where the other site serves its Kubernetes API to this one. */
  readonly prefix: string;
  /** The own API: what kinds there are is asked there, since other sites do not tell. */
  readonly home: KubeClient;
  /** Own namespaces, and what each is called there. */
  readonly twins: ReadonlyMap<string, string>;
}

/** Hop by hop, ours alone, or not so any more once names are changed. */
const NOT_PASSED = [
  "host",
  "connection",
  "authorization",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "accept-encoding",
  "content-length",
];

/**
 * A port of this machine behind which is another site's Kubernetes API, as far as the contract lets this site use it. Whoever
 * does not know the secret in its URL gets nothing.
 */
export class SiteBridge implements AsyncDisposable {
  readonly #options: SiteBridgeOptions;
  readonly #server: Server;
  readonly #secret = randomBytes(24).toString("hex");

  private constructor(options: SiteBridgeOptions) {
    this.#options = options;
    this.#server = createServer((incoming, response) => void this.#answer(incoming, response));
    this.#server.on("upgrade", (incoming, socket: Duplex, head: Buffer) => void this.#upgrade(incoming, socket, head));
  }

  static async open(options: SiteBridgeOptions): Promise<SiteBridge> {
    const bridge = new SiteBridge(options);
    bridge.#server.listen(0, "127.0.0.1");
    await once(bridge.#server, "listening");
    return bridge;
  }

  /** For a kubeconfig. It holds the secret. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${this.#secret}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = this.#pathOf(incoming);
    if (path === undefined) return void response.writeHead(404).end();
    try {
      if (isDiscovery(path)) return await this.#tellKinds(path, incoming, response);
      const answer = await this.#ask(incoming, path);
      if (!isJson(answer)) {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        return await pipeline(answer, response);
      }
      const { "content-length": _, ...headers } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, headers);
      const homeNames = new Map([...this.#options.twins].map(([own, twin]) => [twin, own]));
      await pipeline(answer, renamedNamespaces(homeNames), response);
    } catch (error) {
      refuse(response, `${this.#options.site} cannot be asked: ${describeError(error)}`);
    }
  }

  async #tellKinds(path: string, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const accept = incoming.headers.accept;
    const { body, headers } = await this.#options.home.raw("GET", path, {
      headers: accept === undefined ? {} : { accept },
    });
    response.writeHead(200, { "content-type": String(headers["content-type"] ?? "application/json") });
    response.end(body);
  }

  async #ask(incoming: IncomingMessage, path: string): Promise<IncomingMessage> {
    const { connect, prefix, site } = this.#options;
    const socket = await connect();
    const outgoing = request({
      createConnection: () => socket as never,
      method: incoming.method,
      path: prefix + path,
      headers: { ...passed(incoming), host: site, connection: "close" },
    });
    const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
    answered.catch(() => {});
    if (isJson(incoming)) await pipeline(incoming, renamedNamespaces(this.#options.twins), outgoing);
    else await pipeline(incoming, outgoing);
    return (await answered)[0];
  }

  async #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const path = this.#pathOf(incoming);
    socket.on("error", () => socket.destroy());
    if (path === undefined) return void socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n");
    const { connect, prefix, site } = this.#options;
    try {
      const there = await connect();
      const headers = { ...passed(incoming), host: site, connection: "Upgrade" };
      const lines = Object.entries(headers).flatMap(([name, value]) =>
        [value].flat().map((each) => `${name}: ${each}`),
      );
      there.write(`${incoming.method} ${prefix}${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      there.write(head);
      await Promise.all([pipeline(there, socket), pipeline(socket, there)]).catch(() => {});
    } catch {
      socket.end("HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n");
    }
  }

  /** Below the secret, with the names that namespaces have there; undefined for whoever does not know it. */
  #pathOf({ url = "" }: IncomingMessage): string | undefined {
    const given = Buffer.from(url.slice(1, 1 + this.#secret.length));
    const secret = Buffer.from(this.#secret);
    if (given.length !== secret.length || !timingSafeEqual(given, secret)) return undefined;
    return url
      .slice(1 + this.#secret.length)
      .replace(
        /(\/namespaces\/)([a-z0-9-]+)(?=\/)/,
        (_, before: string, name: string) => before + (this.#options.twins.get(name) ?? name),
      );
  }
}

function isDiscovery(path: string): boolean {
  return /^\/(version|openapi(\/.*)?|api|apis|api\/v1|apis\/[^/?]+(\/[^/?]+)?)(\?|$)/.test(path);
}

/** kubectl sends YAML too, which is JSON as it writes it. */
function isJson({ headers }: IncomingMessage): boolean {
  return /json|yaml/.test(headers["content-type"] ?? "");
}

function passed({ headers }: IncomingMessage): Record<string, string | string[]> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries.filter(([name]) => !NOT_PASSED.includes(name)));
}

function refuse(response: ServerResponse, message: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(503, { "content-type": "application/json" });
  response.end(
    JSON.stringify({
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      reason: "ServiceUnavailable",
      code: 503,
      message,
    }),
  );
}
