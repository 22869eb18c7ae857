import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { aborted, type Logger } from "@fjord/base";
import { type HealthChecks, healthHandler, type Runnable } from "@fjord/kube";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { createServer } = process.getBuiltinModule("node:http");

export interface HealthServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly health: HealthChecks;
  readonly ready: HealthChecks;
  readonly metrics: Parameters<typeof healthHandler>[0]["metrics"];
  readonly logger: Logger;
  /** What else is served, by path. @default nothing */
  readonly routes?: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>>;
}

/** `/healthz`, `/readyz` and `/metrics` for whoever watches over the agent. */
export class HealthServer implements Runnable {
  readonly name = "health server";
  readonly early = true;
  readonly #options: HealthServerOptions;

  constructor(options: HealthServerOptions) {
    this.#options = options;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { listen, logger, routes = {} } = this.#options;
    const health = healthHandler(this.#options);
    const server = createServer((request, response) => {
      const route = Object.hasOwn(routes, request.url ?? "") ? routes[request.url ?? ""] : undefined;
      (route ?? health)(request, response);
    });
    server.listen(listen.port, listen.host);
    await once(server, "listening");
    logger.info("serving health and metrics", { address: listen.host, port: listen.port });
    await aborted(stop);
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
}
