import type { Duplex } from "node:stream";
import type { Kind, KubeObject } from "@fjord/base";
import type { CacheRoom } from "../cache/cache-room.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { mergeHeaders } from "../config/headers.ts";
import { type Impersonation, impersonationHeaders } from "../config/impersonation.ts";
import { type AttachOptions, attach, type ExecOptions, exec } from "../stream/exec.ts";
import { type PortForwardOptions, portForward } from "../stream/port-forward.ts";
import { type ListenOptions, listenPortForward, type PortForwardListener } from "../stream/port-forward-listener.ts";
import type { CommandResult } from "../stream/remote-command.ts";
import type { ByteStream } from "../transport/byte-stream.ts";
import type { HttpHeaders, HttpMethod, HttpRequest, HttpResponse } from "../transport/http.ts";
import type { ServerClock } from "../transport/server-clock.ts";
import { Transport, type TransportOptions } from "../transport/transport.ts";
import type * as api from "./interfaces.ts";
import { ObjectClient } from "./object-client.ts";
import { type LogOptions, logQuery } from "./pod-log.ts";
import { jsonBody, patchContentTypes, writeQuery } from "./request-options.ts";
import { Requester } from "./requester.ts";
import { describeTarget, objectPath, type QueryValue, queryString } from "./resource-path.ts";
import type { EvictOptions, IssuedToken, Scale, TokenOptions } from "./subresources.ts";

export interface KubeClientOptions extends TransportOptions {
  /** Shared with other clients; its own options then hold, and closing any of them closes it. */
  transport?: Transport;
  /** Sent with every request. */
  headers?: ClusterConfig["headers"];
  /** What caches of the server may take together, where it is not trusted. @default as much as it sends */
  room?: CacheRoom;
  /** Told of each warning that the server adds to an answer. */
  onWarning?: (warning: string, action: string) => void;
}

export interface RawOptions extends api.RequestOptions {
  query?: Record<string, QueryValue>;
  headers?: HttpHeaders;
  /** Text and bytes are sent as they are, all else as JSON. */
  body?: unknown;
}

/** What is left to say once the pod is named. */
type OfPod<Options> = Omit<Options, "pod" | "namespace">;

/**
 * Reads and writes objects of any kind, and what hangs on them. Every call throws `ApiError` for a refusal,
 * `ConnectionError` when no whole answer came, and the signal's reason when it aborts.
 */
export class KubeClient extends ObjectClient implements AsyncDisposable {
  readonly transport: Transport;
  readonly room: CacheRoom | undefined;
  readonly #config: ClusterConfig;
  readonly #options: KubeClientOptions;

  constructor(config: ClusterConfig, options: KubeClientOptions = {}) {
    const transport = options.transport ?? new Transport(config, options);
    super(new Requester(transport, options), config.namespace);
    this.transport = transport;
    this.room = options.room;
    this.#config = config;
    this.#options = options;
  }

  /** What time it is by the clock of the server, whatever it is here. */
  get serverClock(): ServerClock {
    return this.transport.serverClock;
  }

  getScale<T extends KubeObject>(kind: Kind<T>, key: api.ObjectKey, options: api.RequestOptions = {}): Promise<Scale> {
    return this.object<Scale>("GET", "get", kind, key, { ...options, subresource: "scale" });
  }

  /** Replaces the scale; with a resource version in it, only if the workload is still the same. */
  updateScale<T extends KubeObject>(
    kind: Kind<T>,
    key: api.ObjectKey,
    scale: Scale,
    options: api.WriteOptions = {},
  ): Promise<Scale> {
    const scaleOptions = { ...options, subresource: "scale" };
    return this.object<Scale>("PUT", "update", kind, key, scaleOptions, writeQuery(options), jsonBody(scale));
  }

  /** Sets the number of replicas, whatever it is now. */
  scale<T extends KubeObject>(
    kind: Kind<T>,
    key: api.ObjectKey,
    replicas: number,
    options: api.WriteOptions = {},
  ): Promise<Scale> {
    const body = jsonBody({ spec: { replicas } }, patchContentTypes.merge);
    const scaleOptions = { ...options, subresource: "scale" };
    return this.object<Scale>("PATCH", "scale", kind, key, scaleOptions, writeQuery(options), body);
  }

  /** Deletes a pod if its disruption budgets allow; the refusal is an `ApiError` for which `isTooManyRequests` holds. */
  async evict(key: api.ObjectKey, options: EvictOptions = {}): Promise<void> {
    const target = this.key(pods, key);
    const { gracePeriodSeconds, preconditions, dryRun } = options;
    const deleteOptions = { gracePeriodSeconds, preconditions, dryRun: dryRun ? ["All"] : undefined };
    await this.requester.bytes({
      method: "POST",
      path: objectPath(pods, target, "eviction"),
      action: `evict ${describeTarget(pods, target)}`,
      signal: options.signal,
      // Here 429 is the answer, not a wish to be asked again.
      retryTooManyRequests: false,
      ...jsonBody({ apiVersion: "policy/v1", kind: "Eviction", metadata: target, deleteOptions }),
    });
  }

  /** Assigns a pod to a node, as a scheduler does. */
  async bind(key: api.ObjectKey, nodeName: string, options: api.WriteOptions = {}): Promise<void> {
    const target = this.key(pods, key);
    const node = { apiVersion: "v1", kind: "Node", name: nodeName };
    await this.requester.bytes({
      method: "POST",
      path: objectPath(pods, target, "binding") + queryString(writeQuery(options)),
      action: `bind ${describeTarget(pods, target)} to Node ${nodeName}`,
      signal: options.signal,
      ...jsonBody({ apiVersion: "v1", kind: "Binding", metadata: target, target: node }),
    });
  }

  /** Asks for a token of a service account. */
  async createToken(key: api.ObjectKey, options: TokenOptions = {}): Promise<IssuedToken> {
    const target = this.key(serviceAccounts, key);
    const spec = {
      audiences: options.audiences ?? [],
      expirationSeconds: options.expirationSeconds,
      boundObjectRef: options.boundObject,
    };
    const action = `get a token of ${describeTarget(serviceAccounts, target)}`;
    const { status } = await this.requester.json<{ status?: IssuedToken }>({
      method: "POST",
      path: objectPath(serviceAccounts, target, "token"),
      action,
      signal: options.signal,
      ...jsonBody({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec }),
    });
    if (typeof status?.token !== "string") throw this.requester.strange(action);
    return status;
  }

  /** A container's output, as it is written. Opened when the first chunk is asked for. */
  async *log(key: api.ObjectKey, options: LogOptions = {}): AsyncGenerator<Buffer, void, void> {
    const target = this.key(pods, key);
    yield* await this.requester.stream({
      method: "GET",
      path: objectPath(pods, target, "log") + queryString(logQuery(options)),
      action: `read the log of ${describeTarget(pods, target)}`,
      headers: { accept: "*/*" },
      signal: options.signal,
      // The answer to a follow begins with the container's first output, whenever that is.
      headersTimeoutMs: options.follow ? 0 : undefined,
      lasting: true,
    });
  }

  /** Runs a command in a container; resolves with its exit code when it has ended and all its output is written. */
  exec(key: api.ObjectKey, options: OfPod<ExecOptions>): Promise<CommandResult> {
    return exec(this.#streamConfig(), this.#ofPod(key, options));
  }

  /** Joins the streams of a container's own process. */
  attach(key: api.ObjectKey, options: OfPod<AttachOptions>): Promise<CommandResult> {
    return attach(this.#streamConfig(), this.#ofPod(key, options));
  }

  /** One connection to a port of a pod. */
  portForward(key: api.ObjectKey, options: OfPod<PortForwardOptions>): Promise<Duplex> {
    return portForward(this.#streamConfig(), this.#ofPod(key, options));
  }

  /** A local port that leads to a port of a pod. */
  listenPortForward(key: api.ObjectKey, options: OfPod<ListenOptions>): Promise<PortForwardListener> {
    return listenPortForward(this.#streamConfig(), this.#ofPod(key, options));
  }

  /** Any request: `path` begins with a slash and is below the server's base URL. */
  raw(method: HttpMethod, path: string, options: RawOptions = {}): Promise<HttpResponse> {
    return this.requester.bytes(rawRequest(method, path, options));
  }

  /** Like `raw`, giving the body as it arrives. */
  rawStream(method: HttpMethod, path: string, options: RawOptions = {}): Promise<ByteStream> {
    return this.requester.stream(rawRequest(method, path, options));
  }

  /** A client that acts as someone else, and as no one whom this one acts as, over the same connections. */
  impersonating(who: Impersonation): KubeClient {
    const headers = mergeHeaders(this.#options.headers, impersonationHeaders(who));
    return new KubeClient(this.#config, { ...this.#options, transport: this.transport, headers });
  }

  /** Cuts watches and streams, and resolves when the requests under way have ended. */
  close(): Promise<void> {
    return this.transport.close();
  }

  /** WebSockets do not go through the transport, but act as the same user. */
  #streamConfig(): ClusterConfig {
    return { ...this.#config, headers: mergeHeaders(this.#config.headers, this.#options.headers) };
  }

  #ofPod<Options extends api.RequestOptions>(key: api.ObjectKey, options: Options) {
    const { name: pod, namespace } = this.key(pods, key);
    const { closed, connectLasting: connect } = this.transport;
    const signal = options.signal === undefined ? closed : AbortSignal.any([options.signal, closed]);
    return { connect, ...options, pod, namespace, signal };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true } as const;
const serviceAccounts = { ...pods, kind: "ServiceAccount", plural: "serviceaccounts" } as const;

function rawRequest(method: HttpMethod, path: string, options: RawOptions): HttpRequest {
  const { query = {}, headers, body, signal } = options;
  const content = typeof body === "string" || body instanceof Uint8Array ? { body } : jsonBody(body);
  return {
    method,
    path: path + queryString(query),
    action: `${method} ${path}`,
    signal,
    ...content,
    headers: { ...content.headers, ...headers },
  };
}
