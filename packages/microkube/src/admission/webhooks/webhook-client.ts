import { Agent, type RequestOptions, request as send } from "node:https";
import { describeError } from "@fjord/base";
import type { Cluster } from "../../cluster.ts";
import { wholeAnswer } from "../../whole-answer.ts";
import type { AdmissionReview } from "./admission-review.ts";
import { type Address, type ServicePort, serviceEndpoint } from "./service-endpoint.ts";
import { type Webhook, WebhookFailure } from "./webhook.ts";

export interface WebhookClientOptions {
  /** Where a service is reached. @default one of its ready endpoints */
  readonly resolve?: (service: ServicePort, cluster: Cluster) => Address | Promise<Address>;
}

export interface ClientConfig {
  readonly url?: string | undefined;
  readonly caBundle?: string | undefined;
  readonly service?: { namespace: string; name: string; path?: string; port?: number } | undefined;
}

const DEFAULT_SECONDS = 10;
/** More than any object; what is larger is no answer. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * To one webhook: what comes in a burst waits for a connection rather than have its own, each of which costs both sides a handshake. Enough for
 * webhooks that take long, and for such as write what they are asked about themselves.
 */
export const MOST_CONNECTIONS = 32;
/** Kept for the next burst. */
const MOST_IDLE = 8;

/** Calls webhooks, over connections that are kept. */
export class WebhookClient {
  readonly #agent = new Agent({
    keepAlive: true,
    timeout: 60_000,
    maxSockets: MOST_CONNECTIONS,
    maxFreeSockets: MOST_IDLE,
  });
  readonly #resolve: NonNullable<WebhookClientOptions["resolve"]>;

  constructor({ resolve = (service, cluster) => serviceEndpoint(cluster, service) }: WebhookClientOptions = {}) {
    this.#resolve = resolve;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The answer, parsed; throws `WebhookFailure`. */
  call({ hook }: Webhook, review: AdmissionReview, cluster: Cluster): Promise<unknown> {
    return this.post(hook.clientConfig as ClientConfig, review, hook.timeoutSeconds ?? DEFAULT_SECONDS, cluster);
  }

  /** Also conversion webhooks are called so. */
  async post(config: ClientConfig, body: unknown, seconds: number, cluster: Cluster): Promise<unknown> {
    const { url, service, caBundle } = config;
    const port = service?.port ?? 443;
    const name = service && `${service.name}.${service.namespace}.svc`;
    const target = new URL(url ?? `https://${name}:${port}${pathOf(service?.path)}`);
    target.searchParams.set("timeout", `${seconds}s`);
    const place = service === undefined ? target.href : target.href.replace(`${name}/`, `${name}:${port}/`);
    const ca = caBundle ? { ca: Buffer.from(caBundle, "base64").toString("utf8") } : {};
    try {
      const address = service && (await this.#resolve({ ...service, port }, cluster));
      const server = address && { hostname: address.host, port: address.port, servername: name };
      return await this.#send(target, { ...ca, ...server }, JSON.stringify(body), seconds);
    } catch (error) {
      if (error instanceof WebhookFailure) throw error;
      throw new WebhookFailure(`failed to call webhook: Post ${JSON.stringify(place)}: ${inGoWords(error)}`, {
        cause: error,
      });
    }
  }

  async #send(target: URL, options: RequestOptions, body: string, seconds: number): Promise<unknown> {
    const signal = AbortSignal.timeout(seconds * 1000);
    const headers = {
      host: target.host,
      "content-type": "application/json",
      accept: "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const request = send(target, { method: "POST", agent: this.#agent, signal, headers, ...options }, (response) =>
      resolve(wholeAnswer(response, MOST_BYTES)),
    );
    request.on("error", reject);
    request.end(body);
    return read(await promise);
  }
}

const pathOf = (path = "/") => (path.startsWith("/") ? path : `/${path}`);

function read({ status, text }: { status: number; text: string }): unknown {
  if (status < 200 || status > 299) throw new WebhookFailure(`failed to call webhook: ${refused(status, text)}`);
  try {
    return JSON.parse(text);
  } catch (error) {
    const problem = `couldn't get version/kind; json parse error: ${describeError(error)}`;
    throw new WebhookFailure(`failed to call webhook: ${problem}`, { cause: error });
  }
}

function refused(status: number, text: string): string {
  if (status === 404) return "the server could not find the requested resource";
  if (status === 403) return "unknown";
  const said = JSON.stringify(text.trim().slice(0, 1024) || "unknown");
  return status >= 500
    ? `an error on the server (${said}) has prevented the request from succeeding`
    : `the server rejected our request for an unknown reason`;
}

/** Those who look for a reason look for the words of the real server. */
function inGoWords(error: unknown): string {
  const { name, code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (name === "TimeoutError" || name === "AbortError" || code === "ABORT_ERR") return "context deadline exceeded";
  if (code === "ECONNREFUSED") return `dial tcp ${address}:${port}: connect: connection refused`;
  if (code === "ENOTFOUND") return `dial tcp: ${describeError(error)}: no such host`;
  const isUnknown = [
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "CERT_SIGNATURE_FAILURE",
  ].includes(code ?? "");
  if (isUnknown) return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `tls: failed to verify certificate: x509: ${describeError(error)}`;
  return describeError(error);
}
