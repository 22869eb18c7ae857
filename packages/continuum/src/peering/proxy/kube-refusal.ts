import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { leaveBody, reasonPhrase } from "../server/answers.ts";

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  502: "ServiceUnavailable",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** The proxy's own no, in Kubernetes' words, so that any Kubernetes client understands it. */
export class KubeRefusal extends Error {
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  /** Behind one address there may be another agent that says something else: the next question is to find it. */
  readonly isOfThisAgent: boolean = false;

  constructor(status: number, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = "KubeRefusal";
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  #body(): Buffer {
    const { status: code, message, retryAfterSeconds } = this;
    const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
    const reason = reasons[code] ?? "InternalError";
    const status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", message, reason, code };
    return Buffer.from(JSON.stringify({ ...status, ...details }), "utf8");
  }

  #headers(body: Buffer): Record<string, string> {
    const retry = this.retryAfterSeconds;
    return {
      "content-type": "application/json",
      "content-length": String(body.length),
      ...(retry === undefined ? {} : { "retry-after": String(retry) }),
      ...(this.isOfThisAgent && { connection: "close" }),
    };
  }

  send(response: ServerResponse): void {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    leaveBody(response);
    const body = this.#body();
    response.writeHead(this.status, this.#headers(body)).end(body);
  }

  sendRaw(socket: Duplex): void {
    const body = this.#body();
    const headers = Object.entries({ ...this.#headers(body), connection: "close" });
    const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.end(
      Buffer.concat([Buffer.from(`HTTP/1.1 ${this.status} ${reasonPhrase(this.status)}\r\n${head}\r\n`), body]),
    );
  }
}

/** What an agent says that does not serve the tenant yet, or that does not lead: another of its site may. */
export class NotHere extends KubeRefusal {
  override readonly isOfThisAgent = true;
}

export function forbidden(message: string): KubeRefusal {
  return new KubeRefusal(403, message);
}
