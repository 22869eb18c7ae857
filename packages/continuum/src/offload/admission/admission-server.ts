import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { aborted, describeError, type Logger } from "@fjord/base";
import type { Runnable } from "@fjord/kube";
import { type AdmissionRequest, parseReview, reviewAnswer, type Verdict } from "./admission-review.ts";

export interface AdmissionServerOptions {
  readonly host: string;
  readonly port: number;
  /** PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** By path, such as `/admission/pods`. */
  readonly reviews: Readonly<Record<string, (request: AdmissionRequest) => Verdict | Promise<Verdict>>>;
  /** After how many a connection is closed, and the next one's certificate looked at. @default any number */
  readonly requestsPerConnection?: number;
  readonly logger: Logger;
}

/** An object is at most 3 MB, and comes twice with an update. */
const LARGEST_REVIEW = 8 * 1024 * 1024;

/** Answers the own API server's questions about new objects. */
export class AdmissionServer implements Runnable {
  readonly name = "admission server";
  readonly needsLeaderElection = false;
  readonly #options: AdmissionServerOptions;
  readonly #server: Server;

  constructor(options: AdmissionServerOptions) {
    this.#options = options;
    this.#server = createServer({ ...options.tls, noDelay: true, keepAliveTimeout: 120_000 }, (request, response) => {
      void this.#answer(request, response);
    });
    this.#server.maxRequestsPerSocket = options.requestsPerConnection ?? 0;
  }

  /** Serves this from now on; connections that are open stay. */
  use(tls: AdmissionServerOptions["tls"]): void {
    this.#server.setSecureContext(tls);
  }

  get address(): AddressInfo {
    return this.#server.address() as AddressInfo;
  }

  async listen(): Promise<void> {
    if (this.#server.listening) return;
    this.#server.listen(this.#options.port, this.#options.host);
    await once(this.#server, "listening");
  }

  async run(stop: AbortSignal): Promise<void> {
    await this.listen();
    await aborted(stop);
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { reviews, logger } = this.#options;
    const path = (request.url ?? "").split("?")[0] ?? "";
    const review = Object.hasOwn(reviews, path) ? reviews[path] : undefined;
    if (review === undefined || request.method !== "POST")
      return send(response, 404, { message: "there is nothing here" });
    try {
      const asked = parseReview(JSON.parse(await bodyOf(request)));
      send(response, 200, reviewAnswer(asked.uid, await review(asked)));
    } catch (error) {
      logger.warn("cannot answer an admission review", { path, error: describeError(error) });
      send(response, 400, { message: describeError(error) });
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_REVIEW) throw new Error(`the review is larger than ${LARGEST_REVIEW} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}
