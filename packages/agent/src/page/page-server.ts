import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import { aborted, describeError } from "@fjord/base";
import type { Runnable } from "@fjord/kube";
import type { PageHandler } from "./page-handler.ts";
import type { PageOptions } from "./page-options.ts";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { createServer } = process.getBuiltinModule("node:http");

/** Serves the site's page. What it needs is loaded when the first one asks: most agents are never looked at. */
export class PageServer implements Runnable {
  readonly name = "page";
  readonly #options: PageOptions;
  #handler: Promise<PageHandler> | undefined;

  constructor(options: PageOptions) {
    this.#options = options;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { listen, tls, logger } = this.#options;
    const answer = (request: IncomingMessage, response: ServerResponse) =>
      void this.#load()
        .then((handler) => handler.handle(request, response))
        .catch((error: unknown) => {
          logger.error("cannot answer the page", { error: describeError(error) });
          response.destroy();
        });
    const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#load()
        .then((handler) => handler.upgrade(request, socket, head))
        .catch((error: unknown) => {
          logger.error("cannot open a terminal of the page", { error: describeError(error) });
          socket.destroy();
        });
    });
    server.listen(listen.port, listen.host);
    try {
      await once(server, "listening");
    } catch (error) {
      // The site works without its page.
      logger.warn("the page is not served", { address: listen.host, port: listen.port, error: describeError(error) });
      return await aborted(stop);
    }
    logger.info("serving the page", { address: listen.host, port: listen.port });
    await aborted(stop);
    const closed = once(server, "close");
    server.close();
    await (await this.#handler)?.close();
    server.closeAllConnections();
    await closed;
  }

  #load(): Promise<PageHandler> {
    this.#handler ??= import("./page-handler.ts").then(({ PageHandler: Handler }) => new Handler(this.#options));
    return this.#handler;
  }
}
