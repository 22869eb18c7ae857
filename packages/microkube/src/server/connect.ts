import type { KubeObject } from "@fjord/base";
import type { CertificatePair } from "../authentication/index.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { find } from "../cluster-objects.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import { admissionRequest, mutate, validate } from "../registry/admission-chain.ts";
import type { Operation, Registry } from "../registry/index.ts";
import { badRequest, notFound, StatusError } from "../status-error.ts";
import {
  checkProxied,
  containerOf,
  kubeletAddress,
  podAddress,
  portNumber,
  proxyName,
  serviceAddress,
} from "./connect-location.ts";
import type { Exchange } from "./exchange.ts";
import { kubeletRefusal } from "./kubelet-refusal.ts";
import { type Destination, passThrough } from "./pass-through.ts";
import { attributesOf, type ResourceTarget } from "./request-target.ts";

export interface ConnectOptions {
  readonly registry: Registry;
  readonly authorizer: Authorizer;
  /** As which the server speaks to kubelets. */
  readonly kubeletClient: CertificatePair;
  /** Which of a node's addresses are tried. @default InternalIP, then Hostname and ExternalIP */
  readonly addressTypes?: readonly string[];
}

/** What runs something in a pod, or reaches into it: reading alone is no right to that. */
const STREAMS = ["exec", "attach", "portforward"];
const ADDRESS_TYPES = ["InternalIP", "Hostname", "ExternalIP", "InternalDNS", "ExternalDNS"];
const logParameters = [
  "follow",
  "previous",
  "sinceSeconds",
  "sinceTime",
  "timestamps",
  "tailLines",
  "limitBytes",
  "stream",
];

/** Subresources that lead elsewhere: to a node's kubelet, to a pod, to one of a service's pods. */
export class Connector {
  readonly #options: ConnectOptions;
  readonly #registry: Registry;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#registry = options.registry;
  }

  async connect(exchange: Exchange, type: ResourceType, target: ResourceTarget): Promise<void> {
    if (target.subresource !== "log") await this.#admit(exchange, type, target);
    if (type.kind === "Pod" && STREAMS.includes(target.subresource)) await this.#authorizeCreate(exchange, target);
    const destination = this.#destination(exchange, type, target);
    if (destination === undefined) {
      // A pod without a node has said nothing yet.
      exchange.send(200, "text/plain", "");
      return;
    }
    await passThrough(exchange, destination);
  }

  #destination(exchange: Exchange, type: ResourceType, target: ResourceTarget): Destination | undefined {
    const { subresource, namespace, name } = target;
    if (subresource === "proxy") return this.#proxied(exchange, type, target);
    const pod = this.#require("Pod", "pods", namespace, name);
    const node = (pod as { spec?: { nodeName?: string } }).spec?.nodeName ?? "";
    const { query } = exchange;
    if (subresource === "log") {
      const container = containerOf(pod, query.get("container") ?? "");
      if (node === "") return undefined;
      const parameters = picked(query, logParameters);
      const kubelet = this.#kubelet(node, `/containerLogs/${namespace}/${name}/${container}`, parameters);
      return { ...kubelet, refusal: (code, text) => kubeletRefusal(code, text, name) };
    }
    if (subresource === "portforward") {
      if (node === "") throw noHost(name);
      return this.#kubelet(node, `/portForward/${namespace}/${name}`, ports(query));
    }
    const container = containerOf(pod, query.get("container") ?? "");
    if (node === "") throw noHost(name);
    return this.#kubelet(node, `/${subresource}/${namespace}/${name}/${container}`, streams(query));
  }

  #proxied(exchange: Exchange, type: ResourceType, target: ResourceTarget): Destination {
    const { namespace, name: id, rest } = target;
    const at = (exchange.request.url ?? "").indexOf("?");
    const path = (rest === "" ? "/" : rest) + (at < 0 ? "" : (exchange.request.url ?? "").slice(at));
    if (type.kind === "Node") {
      const { scheme, name, port } = proxyName(id, "node");
      const node = this.#require("Node", "nodes", "", name);
      const kubelet = kubeletAddress(node, this.#options.addressTypes ?? ADDRESS_TYPES);
      if (port === "" || Number(port) === kubelet.port) {
        return { scheme: "https", ...kubelet, path, certificate: this.#options.kubeletClient };
      }
      checkProxied(kubelet.host);
      return { scheme, host: kubelet.host, port: portNumber(port) ?? kubelet.port, path };
    }
    if (type.kind === "Service") {
      const named = proxyName(id, "service");
      const service = this.#require("Service", "services", namespace, named.name);
      const endpoints = find(this.#registry, "Endpoints", namespace, named.name);
      const pod = (name: string) => find(this.#registry, "Pod", namespace, name);
      const means = { random: this.#registry.random, pod };
      return { scheme: named.scheme, ...serviceAddress(service, endpoints, named, means), path };
    }
    const named = proxyName(id, "pod");
    const pod = this.#require("Pod", "pods", namespace, named.name);
    return { scheme: named.scheme, ...podAddress(pod, named.port, named.scheme), path };
  }

  #kubelet(nodeName: string, path: string, parameters: URLSearchParams): Destination {
    const node = find(this.#registry, "Node", "", nodeName);
    if (node === undefined) throw notFound({ group: "", plural: "nodes" }, nodeName);
    const { host, port } = kubeletAddress(node, this.#options.addressTypes ?? ADDRESS_TYPES);
    const query = parameters.toString();
    const certificate = this.#options.kubeletClient;
    return { scheme: "https", host, port, path: query === "" ? path : `${path}?${query}`, certificate };
  }

  #require(kind: string, plural: string, namespace: string, name: string): KubeObject {
    const found = find(this.#registry, kind, namespace, name);
    if (found === undefined) throw notFound({ group: "", plural }, name);
    return found;
  }

  /** A WebSocket is opened by GET, for which `get` was asked already: that they may `create` is asked besides. */
  async #authorizeCreate(exchange: Exchange, target: ResourceTarget): Promise<void> {
    const { caller } = exchange;
    if (caller === undefined) throw new StatusError(401, "Unauthorized", "Unauthorized");
    if (target.verb === "create") return;
    const attributes = attributesOf({ ...target, verb: "create" }, exchange.query);
    const { allowed, reason } = await this.#options.authorizer.authorize(caller, attributes);
    if (allowed) return;
    const { name, resource } = target;
    const details = { name, kind: resource };
    throw new StatusError(403, "Forbidden", `${resource} ${JSON.stringify(name)} is forbidden: ${reason}`, details);
  }

  async #admit(exchange: Exchange, type: ResourceType, target: ResourceTarget): Promise<void> {
    const { version, namespace, subresource, name } = target;
    const { caller } = exchange;
    if (caller === undefined) throw new StatusError(401, "Unauthorized", "Unauthorized");
    const operation: Operation = {
      ...{ type, version, namespace, subresource, caller, dryRun: false, fieldManager: "", options: {} },
      warn: (text) => exchange.warn(text),
    };
    const object = connectOptions(subresource, exchange.query);
    const of = { operation: "CONNECT", name, object, old: undefined } as const;
    const request = admissionRequest(this.#registry, operation, of);
    await mutate(this.#registry.plugins, request);
    (await validate(this.#registry.plugins, request))(true);
  }
}

const noHost = (name: string) => badRequest(`pod ${name} does not have a host assigned`);

/** What admission is shown: PodExecOptions and its like. */
function connectOptions(subresource: string, query: URLSearchParams): KubeObject {
  const kinds: Record<string, string> = {
    exec: "PodExecOptions",
    attach: "PodAttachOptions",
    portforward: "PodPortForwardOptions",
  };
  const flags = Object.fromEntries(
    ["stdin", "stdout", "stderr", "tty"].filter((one) => query.has(one)).map((one) => [one, true]),
  );
  const container = query.get("container");
  const command = query.getAll("command");
  return {
    kind: kinds[subresource] ?? "PodProxyOptions",
    apiVersion: "v1",
    metadata: {},
    ...flags,
    ...(container !== null && { container }),
    ...(command.length > 0 && { command }),
  } as KubeObject;
}

function picked(query: URLSearchParams, names: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of names) {
    const value = query.get(name);
    if (value !== null && value !== "") parameters.set(name, value);
  }
  return parameters;
}

/** Kubelets have names of their own for what exec and attach connect. */
function streams(query: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams();
  const isOn = (name: string) => ["1", "true"].includes(query.get(name) ?? "");
  for (const [name, kubelet] of [
    ["stdin", "input"],
    ["stdout", "output"],
    ["stderr", "error"],
    ["tty", "tty"],
  ] as const) {
    if (isOn(name)) parameters.set(kubelet, "1");
  }
  for (const one of query.getAll("command")) parameters.append("command", one);
  return parameters;
}

/** Ports in the query, as WebSockets give them; one parameter may hold several. */
function ports(query: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const one of query.getAll("ports").flatMap((text) => text.split(","))) parameters.append("port", one);
  return parameters;
}
