import { once } from "node:events";
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { ClusterConfig } from "@fjord/kube";
import { ApiServer } from "./api-server.ts";
import type { Decision } from "./decide.ts";
import type { Exchange } from "./exchange.ts";

/** Sends what was admitted to the API server. */
export class Upstream {
  readonly #api: ApiServer;

  constructor(config: ClusterConfig) {
    this.#api = new ApiServer(config);
  }

  close(): void {
    this.#api.close();
  }

  /** A request that its exchange can end, not sent yet. */
  async open(exchange: Exchange, decision: Decision, headers: OutgoingHttpHeaders): Promise<ClientRequest> {
    const { stream: alone, target: path } = decision;
    const method = exchange.request.method ?? "";
    const upstream = await this.#api.open({ method, path, headers, alone });
    exchange.reaches(upstream);
    return upstream;
  }

  async read(exchange: Exchange, decision: Decision, headers: OutgoingHttpHeaders): Promise<IncomingMessage> {
    for (let again = false; ; again = true) {
      const upstream = await this.open(exchange, decision, headers);
      upstream.end();
      try {
        return await this.#answerOf(upstream);
      } catch (error) {
        // The server closed an idle connection just as it was used again.
        if (again || exchange.cut || !upstream.reusedSocket) throw error;
      }
    }
  }

  async write(
    exchange: Exchange,
    decision: Decision,
    headers: OutgoingHttpHeaders,
    body: Buffer,
  ): Promise<IncomingMessage> {
    const upstream = await this.open(exchange, decision, { ...headers, "content-length": body.length });
    const sent = () => {
      exchange.sent = true;
    };
    upstream.once("socket", (socket) => {
      if (socket.connecting) socket.once("connect", sent);
      else sent();
    });
    upstream.end(body);
    return await this.#answerOf(upstream);
  }

  async #answerOf(upstream: ClientRequest): Promise<IncomingMessage> {
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    if (answer.statusCode === 401) this.#api.rejected();
    return answer;
  }
}
