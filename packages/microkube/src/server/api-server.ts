import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { describeError, type Logger } from "@fjord/base";
import type { Auditor, AuditRecord } from "../audit/index.ts";
import type { Authenticator } from "../authentication/authenticator.ts";
import { impersonate, impersonationOf } from "../authentication/index.ts";
import type { Attributes, Authorizer } from "../authorization/authorizer.ts";
import { forbiddenRequest } from "../authorization/forbidden.ts";
import type { Caller } from "../cluster.ts";
import type { Registry } from "../registry/index.ts";
import { StatusError } from "../status-error.ts";
import { CannotKeep } from "../store/store.ts";
import type { Discovery } from "./discovery.ts";
import { Exchange } from "./exchange.ts";
import type { Health } from "./health.ts";
import { answerForm } from "./media-type.ts";
import { http } from "./node-http.ts";
import { attributesOf, isResource, type ResourceTarget, type Target, targetOf } from "./request-target.ts";
import { pathNotFound, type ResourceHandler } from "./resource-handler.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import { versionInfo } from "./version.ts";

/** A path that another part answers; true: it has. */
export type ExtraHandler = (exchange: Exchange, target: Target) => Promise<boolean> | boolean;

export interface ApiServerOptions {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly handler: ResourceHandler;
  readonly discovery: Discovery;
  readonly health: Health;
  readonly metrics: ServerMetrics;
  /** Asked before anything else is looked for, once the caller may: OpenAPI, aggregation. */
  readonly extra?: readonly ExtraHandler[];
  /** Writes down who asked for what. @default nobody does */
  readonly auditor?: Auditor;
  readonly logger: Logger;
  /** `host:port`, as clients reach it. */
  readonly address: () => string;
}

/** Takes requests from whichever connection: finds out who asks, whether they may, and who answers. */
export class ApiServer {
  readonly #options: ApiServerOptions;

  constructor(options: ApiServerOptions) {
    this.#options = options;
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    void this.serve(new Exchange(request, response));
  };

  /** A connection that is to become something else: exec, attach, port-forward. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const response = new http.ServerResponse(request);
    // An answer that is no upgrade goes back on the same connection, which then ends.
    response.assignSocket(socket as never);
    response.shouldKeepAlive = false;
    const detach = () => response.detachSocket(socket as never);
    response.on("finish", () => socket.end());
    void this.serve(new Exchange(request, response, { socket, head, detach }));
  };

  /** Answers; never rejects. Where the exchange has a caller already, nobody is asked for a credential. */
  async serve(exchange: Exchange): Promise<void> {
    const started = performance.now();
    let target: Target = { verb: exchange.method.toLowerCase(), path: exchange.path };
    try {
      target = targetOf(exchange.method, exchange.path, exchange.query);
      await this.#answer(exchange, target);
    } catch (error) {
      await this.#refuse(exchange, error);
    }
    if (exchange.audit !== undefined) finishRecord(exchange, exchange.audit, target);
    const of = isResource(target) ? target : { group: "", version: "", resource: "" };
    const code = exchange.response.statusCode;
    const { verb } = target;
    const known = isResource(target) && code === 404 ? { ...of, group: "", version: "", resource: "" } : of;
    this.#options.metrics.count({ verb, ...known, code }, (performance.now() - started) / 1000);
  }

  async #answer(exchange: Exchange, target: Target): Promise<void> {
    const caller = await this.#callerOf(exchange, target);
    exchange.caller = caller;
    for (const extra of this.#options.extra ?? []) if (await extra(exchange, target)) return;
    if (isResource(target)) return this.#resource(exchange, target, caller);
    return this.#path(exchange, target.path);
  }

  /** Who asks, and may. */
  async #callerOf(exchange: Exchange, target: Target): Promise<Caller> {
    const { authorizer } = this.#options;
    const { request, query } = exchange;
    const attributes = attributesOf(target, query);
    const caller = exchange.caller ?? (await this.#authenticated(exchange, attributes));
    const audit = this.#options.auditor?.begin(exchange, caller, attributes);
    exchange.audit = audit;
    audit?.receive();
    const wanted = impersonationOf(request as IncomingMessage);
    const actor = wanted === undefined ? caller : await impersonate(caller, wanted, attributes, authorizer);
    if (wanted !== undefined) audit?.actsAs(actor);
    const answer = authorizer.authorize(actor, attributes);
    const { allowed, reason } = answer instanceof Promise ? await answer : answer;
    audit?.annotate("authorization.k8s.io/decision", allowed ? "allow" : "forbid");
    audit?.annotate("authorization.k8s.io/reason", reason);
    if (!allowed) throw forbiddenRequest(actor, attributes, reason);
    return actor;
  }

  async #authenticated(exchange: Exchange, attributes: Attributes): Promise<Caller> {
    const { authenticator, auditor } = this.#options;
    try {
      const caller = await authenticator.authenticate(exchange.request as IncomingMessage);
      if (caller === undefined) throw new StatusError(401, "Unauthorized", "Unauthorized");
      return caller;
    } catch (error) {
      exchange.audit = auditor?.begin(exchange, undefined, attributes);
      exchange.audit?.refuse();
      throw error;
    }
  }

  async #resource(exchange: Exchange, target: ResourceTarget, caller: Caller): Promise<void> {
    const { registry, handler } = this.#options;
    const type = registry.types.find(target.group, target.version, target.resource);
    if (type === undefined) throw pathNotFound();
    await handler.handle(exchange, target, type, caller);
  }

  async #path(exchange: Exchange, path: string): Promise<void> {
    const { health, metrics, discovery, address } = this.#options;
    const { method } = exchange;
    if (method !== "GET" && method !== "HEAD") throw pathNotFound();
    if (path === "/version" || path === "/version/") {
      return exchange.send(200, "application/json", JSON.stringify(versionInfo(), undefined, 2));
    }
    if (path === "/metrics") return exchange.send(200, "text/plain; version=0.0.4; charset=utf-8", metrics.text());
    const state = health.answer(path, exchange.query);
    if (state !== undefined) return exchange.send(state.code, "text/plain; charset=utf-8", state.text);
    if (path === "/") return exchange.sendObject(200, { paths: this.#paths() });
    if (!/^\/apis?(\/|$)/.test(path)) throw pathNotFound();
    const { as, version } = answerForm(exchange.request.headers.accept, ["APIGroupDiscoveryList"]);
    const text = discovery.text(path, as === undefined ? undefined : version, address());
    if (text === undefined) throw pathNotFound();
    if (as === undefined) return exchange.sendJson(200, text);
    exchange.response.setHeader("Vary", "Accept");
    exchange.send(200, `application/json;g=apidiscovery.k8s.io;v=${version};as=${as}`, text);
  }

  #paths(): string[] {
    const groups = this.#options.discovery.groups().filter(({ name }) => name !== "");
    const apis = groups.flatMap(({ name, versions }) => [
      `/apis/${name}`,
      ...versions.map(({ version }) => `/apis/${name}/${version}`),
    ]);
    return [
      "/api",
      "/api/v1",
      "/apis",
      ...apis,
      "/healthz",
      "/livez",
      "/metrics",
      "/openapi/v2",
      "/readyz",
      "/version",
    ];
  }

  async #refuse(exchange: Exchange, error: unknown): Promise<void> {
    const status = error instanceof StatusError ? error : this.#unforeseen(exchange, error);
    if (exchange.response.headersSent) {
      exchange.response.destroy();
      return;
    }
    await exchange.sendError(status);
  }

  #unforeseen({ method, path }: Exchange, error: unknown): StatusError {
    if (error instanceof CannotKeep) {
      return new StatusError(507, "InsufficientStorage", `nothing can be written now: ${error.message}`);
    }
    const problem = describeError(error);
    const stack = error instanceof Error ? error.stack : undefined;
    this.#options.logger.error("a request has failed", { method, path, error: problem, stack });
    return new StatusError(500, "InternalError", `Internal error occurred: ${problem}`, {
      causes: [{ message: problem }],
    });
  }
}

/** What goes on when its handler is done, a watch, is over when its connection is. */
function finishRecord({ response }: Exchange, audit: AuditRecord, { verb }: Target): void {
  const isOver = verb !== "watch" || response.destroyed || response.writableFinished;
  if (isOver) audit.finish(response.statusCode);
  else response.on("close", () => audit.finish(response.statusCode));
}
