import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { apiVersionOf, type Clock, type Kind, type KubeObject, type Random, sleep, systemClock } from "@fjord/base";
import { type ApiPath, parseApiPath, resourceOf } from "./api-path.ts";
import { BodyWriter } from "./body-writer.ts";
import { type ActiveFault, type Fault, type FaultOptions, FaultPlan } from "./fault.ts";
import { listPage } from "./list-page.ts";
import { RequestLog, type RequestRecord, recordOf } from "./request-log.ts";
import { keyOf, RevisionStore, type Snapshot } from "./revision-store.ts";
import { parseSelector } from "./selector.ts";
import { notFound, StatusError, statusOf } from "./status.ts";
import { type Break, WatchConnection } from "./watch-connection.ts";

export interface FaultServerOptions {
  /** @default the system's */
  clock?: Clock;
  /** @default Math.random */
  random?: Random;
  /** How often idle watches get a bookmark. @default 60_000 */
  bookmarkIntervalMs?: number;
}

/**
 * An HTTP server that speaks enough of the Kubernetes API to be listed and watched, and that fails on request: a fixture
 * for whatever has to survive a failing API server. It knows no schema: any group, version and plural holds any object.
 *
 * ```ts
 * await using server = await FaultServer.start();
 * server.create(pods, { name: "a", namespace: "default" });
 * server.fault({ type: "status", status: 503 }, { on: { verb: "list" }, times: 3 });
 * ```
 */
export class FaultServer implements AsyncDisposable {
  /** Every request since the start. */
  readonly requests = new RequestLog();
  readonly store: RevisionStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #bookmarkIntervalMs: number;
  readonly #plan = new FaultPlan();
  readonly #watches = new Set<WatchConnection>();
  readonly #server: Server;
  #host = "127.0.0.1";
  #port = 0;
  #tokensFrom = 0;
  #stopBookmarks = () => {};

  private constructor(options: FaultServerOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#bookmarkIntervalMs = options.bookmarkIntervalMs ?? 60_000;
    this.store = new RevisionStore(this.#clock);
    this.store.onChange((change) => {
      for (const watch of this.#watches) watch.change(change);
    });
    this.#server = createServer((request, response) => void this.#handle(request, response));
  }

  /** Listens on the loopback interface; `url` says where. */
  static async start(options: FaultServerOptions = {}): Promise<FaultServer> {
    const server = new FaultServer(options);
    await server.#firstUp();
    server.#scheduleBookmarks();
    return server;
  }

  get url(): string {
    return `http://${this.#host}:${this.#port}`;
  }

  /** How many watches are open and not broken. */
  get openWatches(): number {
    return [...this.#watches].filter((watch) => !watch.broken).length;
  }

  /** Sets a fault for coming requests: one request unless told otherwise. */
  fault(fault: Fault, options?: FaultOptions): ActiveFault {
    return this.#plan.add(fault, options);
  }

  /** Takes back every fault that was set; slow watches are slow no more. Broken connections stay broken. */
  heal(): void {
    this.#plan.clear();
    for (const watch of this.#watches) watch.hurry();
  }

  /** Breaks the watches that are open now. */
  breakWatches(how: Break): void {
    for (const watch of this.#watches) watch.break(how);
  }

  /** Sends a bookmark with the current revision to every watch that wants them. */
  bookmark(): void {
    for (const watch of this.#watches) watch.bookmark(this.store.revision);
  }

  /** Stops listening and resets every connection: from here on connections are refused. */
  async down(): Promise<void> {
    this.breakWatches("reset");
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** Listens again, on the same port. */
  async up(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, this.#host, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Goes down and comes back, with the data of a backup where one is given: revisions then go backwards. */
  async restart(backup?: Snapshot): Promise<void> {
    await this.down();
    if (backup !== undefined) this.store.restore(backup);
    await this.up();
  }

  create<T extends KubeObject>(kind: Kind<T>, object: NewObject<T>): T {
    return this.store.create(resourceOf(kind), complete(kind, object)) as T;
  }

  update<T extends KubeObject>(kind: Kind<T>, object: NewObject<T>): T {
    return this.store.update(resourceOf(kind), complete(kind, object)) as T;
  }

  delete(kind: Kind, key: { name: string; namespace?: string }): void {
    this.store.delete(resourceOf(kind), keyOf(complete(kind, { metadata: key })));
  }

  /** What is there now: the truth to compare with. */
  list<T extends KubeObject>(kind: Kind<T>): T[] {
    return this.store.list(resourceOf(kind)).map(([, object]) => object as T);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopBookmarks();
    if (this.#server.listening) await this.down();
  }

  /** Has a loopback address of its own where the system allows, so that nobody takes its port while it is down. */
  async #firstUp(): Promise<void> {
    const part = () => 1 + Math.floor(Math.random() * 254);
    this.#host = `127.${part()}.${part()}.${part()}`;
    try {
      await this.up();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRNOTAVAIL") throw error;
      this.#host = "127.0.0.1";
      await this.up();
    }
  }

  #scheduleBookmarks(): void {
    this.#stopBookmarks = this.#clock.after(this.#bookmarkIntervalMs, () => {
      this.bookmark();
      this.#scheduleBookmarks();
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const path = parseApiPath(url.pathname);
    const record = recordOf(request.method ?? "GET", url, path, this.#clock.now());
    this.requests.add(record);
    const faults = this.#plan.take(record);
    const body = new BodyWriter(response, faults, this.#clock, this.#random);
    try {
      const text = await textOf(request);
      if (await this.#misbehave(record, faults, response)) return;
      if (path === undefined) throw statusOf(404, `no such path ${url.pathname}`);
      if (record.verb === "watch") return this.#watch(path, record, faults, response, body);
      const answer = JSON.stringify(this.#answer(path, record, text));
      const truncated = faults.some((fault) => fault.type === "truncate");
      response.writeHead(record.verb === "create" ? 201 : 200, { "content-type": "application/json" });
      body.write(truncated ? answer.slice(0, answer.length / 2) : answer);
      body.end();
    } catch (error) {
      const status = error instanceof StatusError ? error : statusOf(500, String(error));
      refuse(response, status);
    }
  }

  /** Does what the faults ask for before an answer; true when there is to be none. */
  async #misbehave(record: RequestRecord, faults: readonly Fault[], response: ServerResponse): Promise<boolean> {
    for (const fault of faults) {
      if (fault.type === "delay" && (await this.#delay(fault.ms, response))) return true;
      if (fault.type === "expire-continue") this.#tokensFrom = this.store.revision + 1;
      if (fault.type === "status") throw statusOf(fault.status, fault.message, fault.retryAfterSeconds);
      if (record.verb === "watch") continue;
      if (fault.type === "gone") throw statusOf(410);
      if (fault.type === "silence") return true;
      if (fault.type === "reset" || fault.type === "close") {
        response.socket?.resetAndDestroy();
        return true;
      }
    }
    return false;
  }

  /** Waits; true when the client has left in the meantime. */
  async #delay(ms: number, response: ServerResponse): Promise<boolean> {
    const left = new AbortController();
    response.once("close", () => left.abort());
    await sleep(this.#clock, ms, left.signal);
    return left.signal.aborted;
  }

  #watch(
    path: ApiPath,
    record: RequestRecord,
    faults: readonly Fault[],
    response: ServerResponse,
    body: BodyWriter,
  ): void {
    const { query } = record;
    const asked = Number(query.get("resourceVersion") ?? 0);
    const after = asked === 0 ? this.store.revision : asked;
    const watch = new WatchConnection(
      {
        resource: path.resource,
        apiVersion: path.apiVersion,
        kind: kindIn(this.store, path.resource),
        ...(path.namespace !== undefined && { namespace: path.namespace }),
        selector: selectorOf(record),
        after,
        bookmarks: query.get("allowWatchBookmarks") === "true",
      },
      response,
      body,
      faults,
    );
    this.#watches.add(watch);
    const seconds = Number(query.get("timeoutSeconds") ?? 0);
    const cancel = seconds > 0 ? this.#clock.after(seconds * 1000, () => watch.break("close")) : () => {};
    response.on("close", () => {
      cancel();
      this.#watches.delete(watch);
    });
    watch.open();
    try {
      if (asked === 0) {
        const revision = this.store.revision;
        for (const [, object] of this.store.list(path.resource))
          watch.change({ revision, resource: path.resource, type: "ADDED", object }, true);
      }
      const again = faults.some((fault) => fault.type === "duplicate");
      const from = again ? Math.min(after, Math.max(this.store.compacted, after - 20)) : after;
      for (const change of this.store.changesSince(path.resource, from)) watch.change(change, again);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      // As the real thing does: once a watch is let in, what is wrong with its revision comes as an event.
      watch.error(error.body);
    }
  }

  #answer(path: ApiPath, record: RequestRecord, text: string): unknown {
    const { resource, namespace, name = "" } = path;
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    switch (record.verb) {
      case "list":
        return listPage(this.store, path, record.query, selectorOf(record), this.#tokensFrom);
      case "create":
        return this.store.create(resource, placed(JSON.parse(text), namespace));
      case "update":
        return this.store.update(resource, placed(JSON.parse(text), namespace));
      case "delete":
        return this.store.delete(resource, key);
      case "get": {
        const object = this.store.get(resource, key);
        if (object === undefined) throw notFound(resource, key);
        return object;
      }
      default:
        throw statusOf(405, `${record.method} is not served here`);
    }
  }
}

/** An object as a test writes it: what the server knows itself may be left out. */
export type NewObject<T extends KubeObject> = Omit<Partial<T>, "metadata"> & Pick<KubeObject, "metadata">;

function complete(kind: Kind, object: NewObject<KubeObject>): KubeObject {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

function placed(object: KubeObject, namespace: string | undefined): KubeObject {
  return namespace === undefined ? object : { ...object, metadata: { ...object.metadata, namespace } };
}

function selectorOf(record: RequestRecord) {
  return parseSelector(record.query.get("labelSelector"), record.query.get("fieldSelector"));
}

function kindIn(store: RevisionStore, resource: string): string {
  return store.list(resource)[0]?.[1].kind ?? "Object";
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

function refuse(response: ServerResponse, { body }: StatusError): void {
  if (response.headersSent) return void response.destroy();
  const retryAfter = body.details?.retryAfterSeconds;
  response.writeHead(body.code, {
    "content-type": "application/json",
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  });
  response.end(JSON.stringify(body));
}
