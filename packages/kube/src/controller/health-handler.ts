import type { IncomingMessage, ServerResponse } from "node:http";
import { describeError, type Logger } from "@fjord/base";
import type { HealthChecks, HealthReport } from "./health.ts";

export interface HealthHandlerOptions {
  health: HealthChecks;
  ready: HealthChecks;
  /** Serves /metrics where given, such as by a `Registry`. */
  metrics?: { readonly contentType: string; metrics(): Promise<string> };
  logger: Logger;
}

/**
 * Answers /healthz, /livez, /readyz (with `?verbose` and `?exclude=NAME`, as Kubernetes' own do) and /metrics. Reasons
 * of failure go to the log alone: these paths are often open to anyone.
 */
export function healthHandler(options: HealthHandlerOptions) {
  const told = new Map<string, string | undefined>();
  return (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, options, told)
      .catch((error): Answer => {
        options.logger.error("cannot answer a health request", { path: request.url, error: describeError(error) });
        return { status: 500, body: "internal error\n" };
      })
      .then(({ status, body, contentType = "text/plain; charset=utf-8" }) => {
        response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
        response.end(request.method === "HEAD" ? undefined : body);
      });
  };
}

interface Answer {
  status: number;
  body: string;
  contentType?: string;
}

/** `told`: what was logged last of each check that fails, since whoever asks, asks every few seconds. */
async function answer(
  request: IncomingMessage,
  options: HealthHandlerOptions,
  told: Map<string, string | undefined>,
): Promise<Answer> {
  const { health, ready, metrics, logger } = options;
  if (request.method !== "GET" && request.method !== "HEAD") return { status: 405, body: "method not allowed\n" };
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/metrics" && metrics !== undefined) {
    return { status: 200, body: await metrics.metrics(), contentType: metrics.contentType };
  }
  const checks = pathname === "/readyz" ? ready : ["/healthz", "/livez"].includes(pathname) ? health : undefined;
  if (checks === undefined) return { status: 404, body: "not found\n" };
  const report = await checks.report(new Set(searchParams.getAll("exclude")));
  for (const { name, ok, message } of report.checks) {
    const key = `${pathname} ${name}`;
    if (!ok && !(told.has(key) && told.get(key) === message))
      logger.warn("health check failed", { path: pathname, check: name, reason: message });
    if (ok) told.delete(key);
    else told.set(key, message);
  }
  const verbose = !report.ok || searchParams.has("verbose");
  return { status: report.ok ? 200 : 500, body: verbose ? listed(report, pathname.slice(1)) : "ok" };
}

function listed({ ok, checks }: HealthReport, question: string): string {
  const lines = checks.map((check) => (check.ok ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`));
  return `${[...lines, `${question} check ${ok ? "passed" : "failed"}`].join("\n")}\n`;
}
