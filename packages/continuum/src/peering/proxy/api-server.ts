import type { ClientRequest, OutgoingHttpHeaders } from "node:http";
import { Agent, request as requestTls } from "node:https";
import { isIP } from "node:net";
import type { ClusterConfig, Credential } from "@fjord/kube";

export interface ApiRequest {
  readonly method: string;
  /** Below the server's base URL, with the query. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  /** A connection of its own, which nobody uses afterwards. */
  readonly alone: boolean;
}

/** How long an idle connection is kept. An API server keeps it for 90 s; well before that nobody writes to a dying one. */
const IDLE_MS = 30_000;

/** The own API server for the proxy: bytes in, bytes out, over connections that are kept. */
export class ApiServer {
  readonly #config: ClusterConfig;
  readonly #base: URL;
  #agent: { readonly cert: string | undefined; readonly pool: Agent } | undefined;

  constructor(config: ClusterConfig) {
    this.#config = config;
    this.#base = new URL(config.server);
  }

  /** A request that is not sent yet, under the agent's own credential. */
  async open({ method, path, headers, alone }: ApiRequest): Promise<ClientRequest> {
    const credential = await this.#config.credentials?.current();
    const own = credential?.authorization === undefined ? {} : { authorization: credential.authorization };
    const options = {
      host: this.#base.hostname.replace(/^\[|\]$/g, ""),
      port: this.#base.port || (this.#secure ? 443 : 80),
      method,
      path: this.#base.pathname.replace(/\/+$/, "") + path,
      headers: { ...headers, ...own },
      setDefaultHeaders: true,
    };
    if (!this.#secure) return process.getBuiltinModule("node:http").request(options);
    const tls = this.#tls(credential);
    return requestTls(alone ? { ...options, ...tls, agent: false } : { ...options, agent: this.#pool(credential) });
  }

  /** The server did not take the credential. */
  rejected(): void {
    this.#config.credentials?.rejected();
  }

  close(): void {
    this.#agent?.pool.destroy();
  }

  get #secure(): boolean {
    return this.#base.protocol === "https:";
  }

  #pool(credential: Credential | undefined): Agent {
    const cert = credential?.cert ?? this.#config.tls.cert;
    if (this.#agent !== undefined && this.#agent.cert === cert) return this.#agent.pool;
    const pool = new Agent({ ...this.#tls(credential), keepAlive: true, maxFreeSockets: 64, timeout: IDLE_MS });
    this.#agent = { cert, pool };
    return pool;
  }

  #tls(credential: Credential | undefined) {
    const { ca, cert, key, serverName, insecureSkipVerify } = this.#config.tls;
    const host = this.#base.hostname.replace(/^\[|\]$/g, "");
    return {
      ca,
      cert: credential?.cert ?? cert,
      key: credential?.key ?? key,
      servername: serverName ?? (isIP(host) === 0 ? host : ""),
      rejectUnauthorized: insecureSkipVerify !== true,
      ALPNProtocols: ["http/1.1"],
    };
  }
}
