import { once } from "node:events";
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FaultServer } from "@fjord/testbed/fault-server";

/** Who may list what, by user: `sites`, `pods`, or `pods/shop` for one namespace. */
export type Grants = Readonly<Record<string, readonly string[]>>;

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly user: string | undefined;
  readonly body: unknown;
}

/** Stands for the own API in tests of the page: lists and watches, tokens, access reviews, login requests, a pod's log. */
export class TestPageApi implements AsyncDisposable {
  readonly objects: FaultServer;
  readonly calls: ApiCall[] = [];
  /** Tokens that are good, and whose. */
  readonly tokens = new Map<string, { user: string; groups: string[] }>();
  readonly requests = new Map<string, object>();
  grants: Grants = {};
  /** What every container has written. */
  log = "2030-01-01T00:00:00Z hello\n2030-01-01T00:00:01Z again\n";
  /** Told of each patch that was allowed, to change the objects by. */
  onPatch: (path: string, body: unknown) => void = () => {};
  readonly #server: Server;

  private constructor(objects: FaultServer) {
    this.objects = objects;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<TestPageApi> {
    const api = new TestPageApi(await FaultServer.start());
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url: path = "/", headers } = request;
    if (method === "GET" && !path.includes("/certificatesigningrequests/") && !path.includes("/log"))
      return this.#pass(request, response);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const user = headers["impersonate-user"] as string | undefined;
    this.calls.push({ method, path, user, body });
    const { status = 200, value } = this.#value(method, path, user, body);
    response.writeHead(status, { "content-type": typeof value === "string" ? "text/plain" : "application/json" });
    response.end(typeof value === "string" ? value : JSON.stringify(value));
  }

  #value(method: string, path: string, user: string | undefined, body: unknown): { status?: number; value: unknown } {
    if (path.includes("/tokenreviews")) {
      const { token } = (body as { spec: { token: string } }).spec;
      const found = this.tokens.get(token);
      const status = found
        ? { authenticated: true, user: { username: found.user, groups: found.groups } }
        : { authenticated: false };
      return { status: 201, value: { ...(body as object), status } };
    }
    if (path.includes("/subjectaccessreviews")) return { status: 201, value: this.#review(body as Review) };
    if (path.includes("/certificatesigningrequests/")) return this.#request(method, path);
    if (path.includes("/log")) {
      if (user === "ann") return { value: this.log };
      return {
        status: 403,
        value: refusal(403, "Forbidden", `pods "web" is forbidden: User "${user}" cannot get resource "pods/log"`),
      };
    }
    if (method === "PATCH" && user === "ann") {
      this.onPatch(path, body);
      return { value: { apiVersion: "v1", kind: "Patched", metadata: { name: "it" } } };
    }
    return { status: 403, value: refusal(403, "Forbidden", `User "${user}" cannot ${method.toLowerCase()} that`) };
  }

  #review(review: Review): object {
    const {
      user,
      resourceAttributes: { resource, namespace },
    } = review.spec;
    const granted = this.grants[user] ?? [];
    const allowed = granted.includes(resource) || granted.includes(`${resource}/${namespace}`);
    return { ...review, status: { allowed } };
  }

  #request(method: string, path: string): { status?: number; value: unknown } {
    const name = path.split("/").at(-1)?.split("?")[0] ?? "";
    const found = this.requests.get(name);
    if (found === undefined) return { status: 404, value: refusal(404, "NotFound", `${name} not found`) };
    if (method === "DELETE") this.requests.delete(name);
    return { value: found };
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const onward = forward(
      `${this.objects.url}${request.url}`,
      { method: request.method ?? "GET", headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    onward.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.objects[Symbol.asyncDispose]();
  }
}

interface Review {
  readonly spec: {
    readonly user: string;
    readonly resourceAttributes: { readonly resource: string; readonly namespace?: string };
  };
}

function refusal(code: number, reason: string, message: string): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}
