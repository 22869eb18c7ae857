import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Readable } from "node:stream";
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

/**
 * Answers the own API server's questions about new objects. They come by HTTP/2 where the API server speaks it: many pods
 * at once are as many questions at once, and a connection for each would cost more than the answers.
 */
export class AdmissionServer implements Runnable {
  readonly name = "admission server";
  readonly needsLeaderElection = false;
  readonly #options: AdmissionServerOptions;
  readonly #server: Http2SecureServer;
  readonly #sockets = new Set<Socket>();

  constructor(options: AdmissionServerOptions) {
    this.#options = options;
    this.#server = this.#makeServer();
    this.#server.on("secureConnection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    // A connection that breaks is its client's to make anew.
    this.#server.on("sessionError", (error) =>
      options.logger.debug("an admission connection broke", { error: describeError(error) }),
    );
    const { requestsPerConnection } = options;
    if (requestsPerConnection === undefined || requestsPerConnection === 0) return;
    this.#server.on("session", (session) => endAfter(session, requestsPerConnection));
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
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #makeServer(): Http2SecureServer {
    const server = createSecureServer({ ...this.#options.tls, allowHTTP1: true });
    server.on("request", (request, response) => {
      // What comes by HTTP/2 is left to the listener below.
      void this.#answerHttp1(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    });
    // Node's own listener would make a request and a response of each stream, which takes a tenth to a fifth of an answer's time.
    server.removeAllListeners("stream");
    server.on("stream", (stream, headers) => void this.#answerStream(stream, headers));
    return server;
  }

  async #answerStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    // One that breaks is its client's to ask again.
    stream.on("error", (error) =>
      this.#options.logger.debug("an admission review broke", { error: describeError(error) }),
    );
    const { status, body } = await this.#answerTo(headers[":method"], headers[":path"], stream);
    if (stream.destroyed || stream.closed) return;
    stream.respond({ ":status": status, ...answerHeaders(body) });
    stream.end(body);
  }

  async #answerHttp1(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#answerTo(request.method, request.url, request);
    if (response.destroyed) return;
    response.writeHead(status, answerHeaders(body));
    response.end(body);
  }

  async #answerTo(method: string | undefined, url: string | undefined, question: Readable): Promise<Answer> {
    const { reviews, logger } = this.#options;
    const path = (url ?? "").split("?")[0] ?? "";
    const review = Object.hasOwn(reviews, path) ? reviews[path] : undefined;
    if (review === undefined || method !== "POST") {
      question.resume();
      return answer(404, { message: "there is nothing here" });
    }
    try {
      const asked = parseReview(JSON.parse(await textOf(question)));
      return answer(200, reviewAnswer(asked.uid, await review(asked)));
    } catch (error) {
      logger.warn("cannot answer an admission review", { path, error: describeError(error) });
      return answer(400, { message: describeError(error) });
    }
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function answer(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body) };
}

function answerHeaders(body: string) {
  return { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
}

function textOf(question: Readable): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  question.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LARGEST_REVIEW) reject(new Error(`the review is larger than ${LARGEST_REVIEW} bytes`));
    else chunks.push(chunk);
  });
  question.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
  question.once("error", reject);
  question.once("close", () => reject(new Error("the review was cut short")));
  return promise;
}

/** The next question comes by another connection. */
function endAfter(session: ServerHttp2Session, requests: number): void {
  let left = requests;
  session.on("stream", () => {
    if (--left === 0) session.close();
  });
}
