import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { KubeObject, Random } from "@fjord/base";
import type { Endpoints, Node, Pod, Service } from "@fjord/kube";
import { badRequest, StatusError } from "../status-error.ts";

/** A name in the path of a proxied request: `web`, `web:80`, `https:web:443`. */
export interface ProxyName {
  readonly scheme: "http" | "https";
  readonly name: string;
  readonly port: string;
}

export function proxyName(id: string, what: string): ProxyName {
  const parts = id.split(":");
  const [scheme = "", name = "", port = ""] =
    parts.length === 3 ? parts : parts.length === 2 ? ["", ...parts] : ["", id, ""];
  if (parts.length > 3 || name === "" || !["", "http", "https"].includes(scheme)) {
    throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  }
  return { scheme: scheme === "https" ? "https" : "http", name, port };
}

const unavailable = (message: string) => new StatusError(503, "ServiceUnavailable", message);

/** Where a node's kubelet listens. */
export function kubeletAddress(node: KubeObject, order: readonly string[]): { host: string; port: number } {
  const { status } = node as Node;
  const addresses = status?.addresses ?? [];
  const host = order.flatMap((type) => addresses.filter((one) => one.type === type))[0]?.address;
  if (host === undefined) {
    const wanted = `[${order.join(" ")}]`;
    throw unavailable(
      `no preferred addresses found; known addresses: [${addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ")}] wanted ${wanted}`,
    );
  }
  return { host, port: status?.daemonEndpoints?.kubeletEndpoint?.Port || 10250 };
}

/** The container that is meant; throws (400) where that is unclear. */
export function containerOf(pod: KubeObject, asked: string): string {
  const { spec, metadata } = pod as Pod;
  const containers = spec?.containers ?? [];
  const first = spec?.initContainers ?? [];
  const extra = spec?.ephemeralContainers ?? [];
  if (asked !== "") {
    if ([...containers, ...first, ...extra].some(({ name }) => name === asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
  }
  const [only] = containers;
  if (containers.length === 1 && only !== undefined) return only.name;
  const names = (list: readonly { name: string }[]) => `[${list.map(({ name }) => name).join(" ")}]`;
  let message = `a container name must be specified for pod ${metadata.name}, choose one of: ${names(containers)}`;
  if (first.length > 0) message += ` or one of the init containers: ${names(first)}`;
  if (extra.length > 0) message += ` or one of the ephemeral containers: ${names(extra)}`;
  throw badRequest(message);
}

/** What is of the machine itself, or of its link, as where a cloud tells its machines their secrets. */
const ownAddresses = new BlockList();
for (const [net, prefix, family] of [
  ["0.0.0.0", 32, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["224.0.0.0", 24, "ipv4"],
  ["::", 127, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["ff01::", 16, "ipv6"],
  ["ff02::", 16, "ipv6"],
] as const) {
  ownAddresses.addSubnet(net, prefix, family);
}

/** Throws (400) for an address that nobody is to reach through this server. */
export function checkProxied(host: string): void {
  const family = isIPv4(host) ? "ipv4" : isIPv6(host) ? "ipv6" : undefined;
  const isOwn = family === undefined ? host === "" || host === "localhost" : ownAddresses.check(host, family);
  if (isOwn) throw badRequest("address not allowed");
}

/** Where a pod's own server is reached; the port is its first, unless another is asked for. */
export function podAddress(pod: KubeObject, port: string, scheme: "http" | "https"): { host: string; port: number } {
  const { spec, status } = pod as Pod;
  const host = status?.podIPs?.[0]?.ip ?? status?.podIP ?? "";
  checkProxied(host);
  const declared = spec?.containers.flatMap(({ ports = [] }) => ports)[0]?.containerPort;
  return { host, port: portNumber(port) ?? declared ?? (scheme === "https" ? 443 : 80) };
}

export function portNumber(text: string): number | undefined {
  if (text === "") return undefined;
  const isPort = /^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) < 65_536;
  if (isPort) return Number(text);
  throw badRequest(`invalid port ${JSON.stringify(text)}`);
}

export interface ServiceMeans {
  readonly random: Random;
  /** A pod of the service's namespace. */
  pod(name: string): KubeObject | undefined;
}

/** One of a service's pods, by chance: whoever may write endpoints would else choose freely where this server connects to. */
export function serviceAddress(
  service: KubeObject | undefined,
  endpoints: KubeObject | undefined,
  { name, port }: ProxyName,
  { random, pod }: ServiceMeans,
): { host: string; port: number } {
  let portName = port;
  if (/^\d+$/.test(port)) {
    const found = (service as Service | undefined)?.spec?.ports?.find((one) => one.port === Number(port));
    if (found === undefined) throw unavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    portName = found.name ?? "";
  }
  const candidates = ((endpoints as Endpoints | undefined)?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const match = ports.find((one) => (one.name ?? "") === portName);
    if (match === undefined) return [];
    return addresses
      .filter(({ ip, targetRef }) => isOfPod(ip, targetRef, service?.metadata.namespace, pod))
      .map(({ ip }) => ({ host: ip, port: match.port }));
  });
  const chosen = candidates[Math.floor(random() * candidates.length)];
  if (chosen === undefined) throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  return chosen;
}

function isOfPod(
  ip: string,
  reference: { readonly name?: string; readonly namespace?: string } | undefined,
  namespace: string | undefined,
  pod: ServiceMeans["pod"],
): boolean {
  if (reference === undefined || reference.namespace !== namespace) return false;
  const { status } = (pod(reference.name ?? "") ?? {}) as Partial<Pod>;
  return (status?.podIPs ?? []).some((one) => one.ip === ip);
}
