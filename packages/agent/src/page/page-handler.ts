import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { describeError, FjordError } from "@fjord/base";
import { ApiError } from "@fjord/kube";
import { WebSocketServer } from "ws";
import { AccessRights } from "./access-rights.ts";
import { ACTIONS } from "./actions.ts";
import { Collector } from "./collector.ts";
import { PageFiles } from "./files.ts";
import { cookieOf, isFromPage, isOwnHost, readJson, securityHeaders, sendJson, urlOf } from "./http.ts";
import { currentView, LiveView, type LiveViewOptions } from "./live-view.ts";
import { Login } from "./login.ts";
import { LoginGate } from "./login-gate.ts";
import type { PageOptions } from "./page-options.ts";
import { type Session, Sessions } from "./sessions.ts";
import { Streams } from "./streams.ts";
import { serveTerminal } from "./terminal.ts";

/** How often the API is asked whether a session's token still holds. */
const RECHECK_MS = 60_000;

/** Everything that the page's server answers. */
export class PageHandler {
  readonly #options: PageOptions;
  readonly #sessions: Sessions;
  readonly #streams: Streams;
  readonly #login: Login;
  readonly #gate: LoginGate;
  readonly #collector: Collector;
  readonly #files: PageFiles;
  readonly #rights = new WeakMap<Session, AccessRights>();
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 1024 * 1024 });
  readonly #stop = new AbortController();
  readonly #cookie: string;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#sessions = new Sessions(options.clock);
    this.#streams = new Streams(options.clock, RECHECK_MS, async ({ id }) => void (await this.#stillHolds(id)));
    this.#login = new Login(options);
    this.#gate = new LoginGate(options.clock);
    this.#collector = new Collector(options);
    this.#files = new PageFiles(options.files);
    // Cookies know no ports: agents on one machine must not take each other's.
    this.#cookie = `${options.tls === undefined ? "" : "__Host-"}fjord-${options.site.slice(0, 10)}`;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#sessions.endAll();
    this.#sockets.close();
    await this.#collector.stop();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const nonce = randomBytes(16).toString("base64url");
    for (const [name, value] of Object.entries(securityHeaders(nonce))) response.setHeader(name, value);
    try {
      await this.#route(request, response, nonce);
    } catch (error) {
      this.#fail(request, response, error);
    }
  }

  /** A terminal, where the viewer may have one. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const url = urlOf(request);
    const refuse = (status: string) =>
      socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    socket.on("error", () => {});
    if (url === undefined) return void refuse("400 Bad Request");
    if (!isOwnHost(request.headers.host, this.#options.hosts) || !isFromPage(request))
      return void refuse("403 Forbidden");
    const session = await this.#session(request).catch(() => undefined);
    if (session === undefined) return void refuse("401 Unauthorized");
    if (url.pathname !== "/api/terminal") return void refuse("404 Not Found");
    if (!this.#options.actions) return void refuse("403 Forbidden");
    const { namespace = "", pod = "", container } = Object.fromEntries(url.searchParams);
    const client = this.#options.client.impersonating(session.who);
    const release = this.#streams.open(session);
    if (release === undefined) return void refuse("429 Too Many Requests");
    socket.once("close", release);
    const signal = AbortSignal.any([session.ended.signal, this.#stop.signal]);
    this.#options.logger.info("a viewer of the page opens a terminal", { user: session.who.user, namespace, pod });
    this.#sockets.handleUpgrade(request, socket, head, (open) => {
      void serveTerminal(open, client, { namespace, pod, ...(container && { container }) }, signal);
    });
  }

  async #route(request: IncomingMessage, response: ServerResponse, nonce: string): Promise<void> {
    const { method = "GET" } = request;
    const url = urlOf(request);
    if (url === undefined) return sendJson(response, 400, { error: "that is no path" });
    if (!isOwnHost(request.headers.host, this.#options.hosts))
      return sendJson(response, 421, { error: "this page is not served under that name: --page-host names it" });
    if (!url.pathname.startsWith("/api/")) {
      if (method !== "GET" && method !== "HEAD") return sendJson(response, 405, { error: "only for reading" });
      return this.#files.serve(request, response, url.pathname, nonce);
    }
    if (method !== "GET" && !isFromPage(request))
      return sendJson(response, 403, { error: "only the page itself may ask for that" });
    if (url.pathname === "/api/session" && method === "POST") return this.#begin(request, response);
    const session = await this.#session(request);
    if (session === undefined) return sendJson(response, 401, { error: "log in first" });
    if (url.pathname === "/api/session") return this.#end(method, session, response);
    if (method === "GET") return this.#read(url, session, response);
    const action = /^\/api\/actions\/(\w+)$/.exec(url.pathname)?.[1];
    if (action !== undefined && method === "POST") return this.#act(action, session, request, response);
    sendJson(response, 404, { error: "there is nothing here" });
  }

  async #begin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { token, code } = (await readJson(request)) ?? {};
    const { signal } = this.#stop;
    if (typeof token !== "string" && typeof code !== "string")
      return sendJson(response, 400, { error: "a token or a code is needed" });
    const remote = request.socket.remoteAddress ?? "";
    const who =
      typeof token === "string"
        ? await this.#gate.through(remote, "token", () => this.#login.byToken(token.trim(), signal))
        : await this.#gate.through(remote, "code", () => this.#login.byCode(String(code), signal));
    const session = this.#sessions.begin(who, typeof token === "string" ? token.trim() : undefined);
    this.#options.logger.info("a viewer of the page logs in", {
      user: who.user,
      by: typeof token === "string" ? "token" : "link",
    });
    response.setHeader("set-cookie", this.#cookieText(session.id, 8 * 3600));
    sendJson(response, 200, { user: who.user });
  }

  #end(method: string, session: Session, response: ServerResponse): void {
    if (method === "GET") {
      sendJson(response, 200, { user: session.who.user });
      return;
    }
    this.#sessions.end(session);
    response.setHeader("set-cookie", this.#cookieText("", 0));
    sendJson(response, 200, {});
  }

  async #read(url: URL, session: Session, response: ServerResponse): Promise<void> {
    const signal = AbortSignal.any([session.ended.signal, this.#stop.signal]);
    const { site, workload } = Object.fromEntries(url.searchParams);
    const view = this.#viewOf(session, { ...(site && { site }), ...(workload && { workload }) });
    if (url.pathname === "/api/snapshot") return this.#once(view, signal, response);
    if (url.pathname !== "/api/live" && url.pathname !== "/api/log")
      return sendJson(response, 404, { error: "there is nothing here" });
    const release = this.#streams.open(session);
    if (release === undefined) return sendJson(response, 429, { error: "too much is open already: close other tabs" });
    try {
      if (url.pathname === "/api/live") await new LiveView(view, response).run(signal);
      else await this.#log(url, session, response, signal);
    } finally {
      release();
    }
  }

  async #once(view: LiveViewOptions, signal: AbortSignal, response: ServerResponse): Promise<void> {
    const release = this.#collector.watch(() => {});
    try {
      sendJson(response, 200, await currentView(view, signal));
    } finally {
      release();
    }
  }

  /** A container's output as it is written, read as the viewer. */
  async #log(url: URL, { who }: Session, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { namespace = "", pod = "", container, previous } = Object.fromEntries(url.searchParams);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const log = this.#options.client.impersonating(who).log(
      { namespace, name: pod },
      {
        ...(container && { container }),
        follow: previous !== "true",
        previous: previous === "true",
        tailLines: 500,
        timestamps: true,
        signal: AbortSignal.any([signal, gone.signal]),
      },
    );
    try {
      for await (const chunk of log) {
        if (!response.headersSent)
          response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
        if (!response.write(chunk)) await Promise.race([drained(response), aborted(gone.signal)]);
      }
      response.end();
    } catch (error) {
      if (gone.signal.aborted) return;
      throw error;
    }
  }

  async #act(name: string, session: Session, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { actions, client, demo, namespace, logger } = this.#options;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined) return sendJson(response, 404, { error: `there is no action ${name}` });
    if (!actions)
      return sendJson(response, 403, { error: "this page is read-only: the agent was started without --page-actions" });
    const body = await readJson(request);
    if (body === undefined) return sendJson(response, 400, { error: "that is no JSON object" });
    const done = await action(body, {
      client: client.impersonating(session.who),
      rights: this.#rightsOf(session),
      namespace,
      ...(demo !== undefined && { demo }),
      signal: AbortSignal.any([session.ended.signal, this.#stop.signal]),
    });
    logger.info("a viewer of the page acts", { user: session.who.user, action: name });
    sendJson(response, 200, { done });
  }

  #viewOf(session: Session, focus: LiveViewOptions["focus"]): LiveViewOptions {
    const { actions, demo, clock, logger } = this.#options;
    const viewer = { user: session.who.user, actions, demo: demo !== undefined };
    return { collector: this.#collector, rights: this.#rightsOf(session), viewer, focus, clock, logger };
  }

  #rightsOf(session: Session): AccessRights {
    const known = this.#rights.get(session) ?? new AccessRights(this.#options.client, session.who, this.#options.clock);
    this.#rights.set(session, known);
    return known;
  }

  async #session(request: IncomingMessage): Promise<Session | undefined> {
    return this.#stillHolds(cookieOf(request, this.#cookie));
  }

  async #stillHolds(id: string | undefined): Promise<Session | undefined> {
    const session = this.#sessions.find(id);
    const now = this.#options.clock.now();
    if (session?.token === undefined || now - session.checkedAt < RECHECK_MS) return session;
    session.checkedAt = now;
    try {
      await this.#login.byToken(session.token, this.#stop.signal);
      return session;
    } catch (error) {
      if (!(error instanceof FjordError) || error.code !== "PAGE_LOGIN_REFUSED") throw error;
      this.#sessions.end(session);
      return undefined;
    }
  }

  #cookieText(value: string, seconds: number): string {
    const secure = this.#options.tls === undefined ? "" : "; Secure";
    return `${this.#cookie}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const path = (request.url ?? "").split("?")[0];
    if (response.headersSent) {
      response.end();
      return;
    }
    const refusal = refusalOf(error);
    if (refusal !== undefined) {
      sendJson(response, refusal.status, { error: refusal.message, ...(refusal.code && { code: refusal.code }) });
      return;
    }
    this.#options.logger.error("cannot answer the page", { path, error: describeError(error) });
    sendJson(response, 500, { error: "something went wrong in the agent; its log says what" });
  }
}

/** What the viewer is told of an error that is not the agent's own. */
function refusalOf(error: unknown): { status: number; message: string; code?: string } | undefined {
  if (error instanceof ApiError) return { status: error.statusCode, message: error.message };
  if (!(error instanceof FjordError)) return undefined;
  const status = { PAGE_LOGIN_REFUSED: 401, PAGE_TOO_MANY_LOGINS: 429, PAGE_FILES_MISSING: 503 }[error.code] ?? 400;
  return { status, message: error.message, code: error.code };
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => void response.once("drain", resolve));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
