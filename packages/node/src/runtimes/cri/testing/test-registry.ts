import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { listenInside } from "./listen-inside.ts";
import { type RegistryAccess, RegistryGate } from "./registry-gate.ts";
import type { Blob, RegistryImage } from "./registry-image.ts";

export type { RegistryAccess } from "./registry-gate.ts";

/** What goes wrong: another answer than the one asked for, none until all is well, or no more than half of each layer. */
export type RegistryFault = { readonly status: number } | "silent" | "cut";

export interface TestRegistryOptions {
  /** A process in whose network it listens. @default this one */
  readonly pid?: number;
  /** @default anyone */
  readonly access?: RegistryAccess;
}

/** Configurations come whole when layers are cut. */
const LARGE = 64 * 1024;

/** A registry of images on a loopback address, which runtimes trust without TLS. It fails when told to. */
export class TestRegistry implements AsyncDisposable {
  /** Requests as they came: `GET /v2/app/manifests/1`. */
  readonly requests: string[] = [];
  #fault: RegistryFault | undefined;
  #healed = Promise.withResolvers<void>();
  readonly #server: Server;
  readonly #gate: RegistryGate;
  readonly #manifests = new Map<string, string>();
  readonly #blobs = new Map<string, Blob>();

  private constructor(access: RegistryAccess) {
    this.#gate = new RegistryGate(access, () => `http://${this.address}`);
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error) => response.destroy(error));
    });
  }

  static async start(options: TestRegistryOptions = {}): Promise<TestRegistry> {
    const registry = new TestRegistry(options.access ?? { kind: "anyone" });
    await listenInside(registry.#server, options.pid);
    return registry;
  }

  get fault(): RegistryFault | undefined {
    return this.#fault;
  }

  set fault(fault: RegistryFault | undefined) {
    this.#fault = fault;
    this.#healed.resolve();
    this.#healed = Promise.withResolvers<void>();
  }

  /** `127.0.0.1:5000`, as images are named by. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Offers an image as `app:1`; returns the name by which it is pulled. */
  push(image: RegistryImage, name: string): string {
    for (const [digest, blob] of image.blobs) this.#blobs.set(digest, blob);
    const [repository, tag = "latest"] = name.split(":");
    this.#manifests.set(`${repository}:${tag}`, image.manifest);
    return `${this.address}/${name}`;
  }

  /** How many requests were for the image's manifest by its tag, which every pull begins with. */
  pulls(name: string): number {
    const [repository, tag = "latest"] = name.split(":");
    return this.requests.filter((request) => request === `HEAD /v2/${repository}/manifests/${tag}`).length;
  }

  /** How many requests were for layers and configurations of a repository. */
  fetches(repository: string): number {
    return this.requests.filter((request) => request.startsWith(`GET /v2/${repository}/blobs/`)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const { pathname, searchParams } = new URL(url, "http://registry");
    this.requests.push(`${method} ${pathname}`);
    if (pathname === "/token") return this.#giveToken(request, response, searchParams);
    while (this.fault === "silent") await this.#healed.promise;
    if (typeof this.fault === "object") return refuse(response, this.fault.status, "FAULT");
    const [, repository = "", kind, reference = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
    const challenge = this.#gate.challenge(request, repository);
    if (challenge !== undefined) {
      response.setHeader("WWW-Authenticate", challenge);
      return refuse(response, 401, "UNAUTHORIZED");
    }
    const digest = kind === "manifests" ? (this.#manifests.get(`${repository}:${reference}`) ?? reference) : reference;
    const blob = this.#blobs.get(digest);
    if (blob === undefined) return refuse(response, 404, kind === "manifests" ? "MANIFEST_UNKNOWN" : "BLOB_UNKNOWN");
    response.setHeader("Docker-Content-Digest", digest);
    this.#send(request, response, blob);
  }

  #send({ method, headers }: IncomingMessage, response: ServerResponse, { type, bytes }: Blob): void {
    const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? "")?.[1] ?? 0);
    const rest = bytes.subarray(from);
    response.setHeader("Content-Type", type);
    response.setHeader("Content-Length", rest.length);
    if (from > 0) response.setHeader("Content-Range", `bytes ${from}-${bytes.length - 1}/${bytes.length}`);
    response.writeHead(from > 0 ? 206 : 200);
    if (method === "HEAD") response.end();
    else if (this.fault === "cut" && bytes.length > LARGE) {
      // Runtimes ask for the rest again and again, as long as they get more of it.
      response.write(bytes.subarray(from, Math.max(from, bytes.length / 2)), () => response.destroy());
    } else response.end(rest);
  }

  async #giveToken(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void> {
    const form = request.method === "POST" ? new URLSearchParams(await text(request)) : query;
    const token = this.#gate.token(request, form);
    if (token === undefined) return refuse(response, 401, "UNAUTHORIZED");
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ token, access_token: token, expires_in: 300 }));
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ errors: [{ code, message: "as the test wants it" }] }));
}
