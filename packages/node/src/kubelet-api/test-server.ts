import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect as tlsConnect } from "node:tls";
import type { LogFields, Logger } from "@fjord/base";
import { Authority } from "@fjord/testbed";
import type { User } from "./access.ts";
import { Guard } from "./guard.ts";
import { KubeletServer, type KubeletServerLimits, type KubeletServerOptions } from "./kubelet-server.ts";
import type { AccessAttributes, Reviewer } from "./reviewer.ts";
import { TestBackend } from "./test-backend.ts";

/** Knows the token `good` of a user who may do everything, and `weak` of one who may only see statistics. */
export class TestReviewer implements Reviewer {
  readonly asked: string[] = [];
  down = false;

  async authenticate(token: string): Promise<User | undefined> {
    this.asked.push(`token ${token}`);
    if (this.down) throw new Error("connection refused");
    return token === "good" || token === "weak" ? { name: token, groups: [] } : undefined;
  }

  async authorize(user: User, { verb, subresource }: AccessAttributes): Promise<boolean> {
    this.asked.push(`${user.name} ${verb} ${subresource}`);
    if (this.down) throw new Error("connection refused");
    return user.name === "weak" ? subresource === "stats" || subresource === "pods" : user.name !== "nobody";
  }
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingMessage["headers"];
}

/** A kubelet API on loopback, with everything around it made for the test. */
export class TestServer implements AsyncDisposable {
  readonly backend = new TestBackend();
  readonly reviewer = new TestReviewer();
  readonly logged: string[] = [];
  readonly options: KubeletServerOptions;
  readonly server: KubeletServer;
  readonly authority: Authority;
  readonly #stop = new AbortController();
  readonly #directory: string;
  #done: Promise<void> | undefined;

  static async start(limits: Partial<KubeletServerLimits> = {}): Promise<TestServer> {
    const directory = await mkdtemp(join(tmpdir(), "fjord-kubelet-"));
    const authority = await Authority.create(directory, "ca", Date.now());
    const { certificate: cert, key } = await authority.issue({ commonName: "node", dnsNames: ["node"] }, Date.now());
    const test = new TestServer(directory, authority, { cert, key }, limits);
    await test.server.listen();
    test.#done = test.server.run(test.#stop.signal);
    return test;
  }

  private constructor(
    directory: string,
    authority: Authority,
    pair: { cert: string; key: string },
    limits: Partial<KubeletServerLimits>,
  ) {
    this.#directory = directory;
    this.authority = authority;
    const write = (message: string, fields?: LogFields) =>
      void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const log: Logger = { debug: write, info: write, warn: write, error: write };
    this.options = {
      backend: this.backend,
      guard: new Guard({ reviewer: this.reviewer, nodeName: "test" }),
      tls: { ...pair, clientCa: authority.certificate },
      host: "127.0.0.1",
      port: 0,
      log,
      limits,
    };
    this.server = new KubeletServer(this.options);
    this.backend.list.push({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "default", uid: "uid-1" },
      spec: { containers: [{ name: "main" }] },
    });
  }

  get #target(): ConnectionOptions & RequestOptions {
    const { port } = this.server.address;
    return { host: "127.0.0.1", port, ca: this.authority.certificate, servername: "node", agent: false };
  }

  connect(options: ConnectionOptions = {}) {
    return tlsConnect({ ...this.#target, ...options });
  }

  /** One request; by default of someone who may do everything. */
  async ask(path: string, options: RequestOptions = {}): Promise<Answer> {
    const request = httpsRequest({ ...this.#target, headers: { authorization: "Bearer good" }, ...options, path });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await text(response), headers: response.headers };
  }

  /** Asks for an upgrade; gives the connection, or the refusal. */
  async upgrade(path: string, headers: Record<string, string>): Promise<Duplex | Answer> {
    const all = { authorization: "Bearer good", connection: "Upgrade", ...headers };
    const request = httpsRequest({ ...this.#target, method: "GET", headers: all, path });
    request.end();
    return await new Promise((resolve, reject) => {
      request.on("upgrade", (_response, socket, head) => {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      request.on("response", async (response) => {
        resolve({ status: response.statusCode ?? 0, text: await text(response), headers: response.headers });
      });
      request.on("error", reject);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
    await rm(this.#directory, { recursive: true, force: true });
  }
}
