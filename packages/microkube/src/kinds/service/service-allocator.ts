import type { KubeObject, Random } from "@fjord/base";
import type { Cluster } from "../../cluster.ts";
import { invalidField } from "../../field-error.ts";
import { invalid, StatusError } from "../../status-error.ts";
import type { ResourceType, WriteContext } from "../resource-type.ts";
import {
  formatIp,
  formatRange,
  type IpFamily,
  type IpRange,
  inRange,
  parseIp,
  parseRange,
} from "../values/ip-address.ts";
import {
  addressesOf,
  allocatesNodePorts,
  hasNodePorts,
  isHeadless,
  needsAddress,
  needsHealthCheckPort,
  nodePortsOf,
  type Service,
} from "./service-shape.ts";

/** Addresses and node ports of services. What is stored is taken; what is about to be stored is taken until it is. */
export class ServiceAllocator {
  readonly #ranges: readonly IpRange[];
  readonly #nodePorts: { readonly first: number; readonly last: number };
  /** By what has them: a service's key, or a write under way. */
  readonly #held = new WeakMap<Cluster, Map<string, readonly string[]>>();

  constructor(ranges: readonly string[], nodePorts: { readonly first: number; readonly last: number }) {
    this.#ranges = ranges.map((text) => {
      const range = parseRange(text);
      if (range === undefined) throw new TypeError(`a range of addresses is expected, not ${JSON.stringify(text)}`);
      return range;
    });
    this.#nodePorts = nodePorts;
  }

  /** Those that services can have, the preferred one first. */
  get families(): readonly IpFamily[] {
    return this.#ranges.map(({ family }) => family);
  }

  /** Fills in what a service lacks; what is returned gives it back. */
  reserve(object: KubeObject, old: KubeObject | undefined, { cluster }: WriteContext): () => void {
    const service = object as Service;
    const held = this.#heldIn(cluster);
    const own = keyOf(object);
    const taken = new Set<string>();
    for (const [key, things] of held) if (key !== own) for (const thing of things) taken.add(thing);
    const before = new Set(thingsOf(old as Service | undefined));
    this.#takeAddresses(service, taken, before, cluster.random);
    this.#takeNodePorts(service, taken, before, cluster.random);
    const pending = `${own}#${object.metadata.uid ?? ""}`;
    held.set(pending, thingsOf(service));
    return () => held.delete(pending);
  }

  /** What is held now, by who holds it; kept up by following the services. */
  #heldIn(cluster: Cluster): Map<string, readonly string[]> {
    const known = this.#held.get(cluster);
    if (known !== undefined) return known;
    const held = new Map<string, readonly string[]>();
    this.#held.set(cluster, held);
    const type = cluster.types.ofKind("", "Service") as ResourceType;
    cluster.follow(type, ({ type: change, object }) => {
      const key = keyOf(object);
      held.delete(`${key}#${object.metadata.uid ?? ""}`);
      if (change === "DELETED") held.delete(key);
      else held.set(key, thingsOf(object as Service));
    });
    return held;
  }

  #takeAddresses(service: Service, taken: Set<string>, before: ReadonlySet<string>, random: Random): void {
    const { spec } = service;
    if (spec === undefined || !needsAddress(spec) || isHeadless(spec)) return;
    const addresses = [...(spec.clusterIPs ?? [])];
    for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
      const range = this.#ranges.find((one) => one.family === family);
      if (range === undefined) continue;
      const wanted = addresses[i];
      if (wanted) this.#checkAddress(service, wanted, range, taken, before);
      const ip = wanted || freeAddress(range, taken, random);
      if (ip === undefined) throw full(service, "a serviceIP", "range is full");
      addresses[i] = ip;
      taken.add(ip);
    }
    if (addresses.length === 0) return;
    spec.clusterIPs = addresses;
    spec.clusterIP = addresses[0];
  }

  #checkAddress(
    service: Service,
    ip: string,
    range: IpRange,
    taken: ReadonlySet<string>,
    before: ReadonlySet<string>,
  ): void {
    if (before.has(ip)) return;
    const address = parseIp(ip);
    const isUsable = address !== undefined && inRange(address, range) && isAssignable(address.value, range);
    const why = isUsable
      ? "provided IP is already allocated"
      : `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${formatRange(range)}`;
    if (isUsable && !taken.has(ip)) return;
    const detail = `failed to allocate IP ${ip}: ${why}`;
    const error = invalidField("spec.clusterIPs", service.spec?.clusterIPs, detail);
    throw invalid({ group: "", kind: "Service" }, service.metadata.name ?? "", [error]);
  }

  #takeNodePorts(service: Service, taken: Set<string>, before: ReadonlySet<string>, random: Random): void {
    const { spec } = service;
    if (spec === undefined) return;
    // One number serves a port in several protocols.
    const byPort = new Map<number, number>();
    for (const { port = 0, nodePort = 0 } of spec.ports ?? []) if (nodePort) byPort.set(port, nodePort);
    for (const [i, port] of (hasNodePorts(spec) ? (spec.ports ?? []) : []).entries()) {
      if (!port.nodePort && !allocatesNodePorts(spec)) continue;
      const known = port.nodePort || byPort.get(port.port ?? 0);
      if (known) this.#checkPort(service, known, `spec.ports[${i}].nodePort`, taken, before);
      const number = known ?? this.#freePort(taken, random);
      if (number === undefined) throw full(service, "a nodePort", "range is full");
      port.nodePort = number;
      byPort.set(port.port ?? 0, number);
      before = new Set([...before, String(number)]);
      taken.add(String(number));
    }
    if (!needsHealthCheckPort(spec)) return;
    const wanted = spec.healthCheckNodePort;
    if (wanted) this.#checkPort(service, wanted, "spec.healthCheckNodePort", taken, before);
    const number = wanted || this.#freePort(taken, random);
    if (number === undefined) throw full(service, "a HealthCheck NodePort", "range is full");
    spec.healthCheckNodePort = number;
  }

  #checkPort(
    service: Service,
    port: number,
    path: string,
    taken: ReadonlySet<string>,
    before: ReadonlySet<string>,
  ): void {
    if (before.has(String(port))) return;
    const { first, last } = this.#nodePorts;
    const isUsable = port >= first && port <= last;
    if (isUsable && !taken.has(String(port))) return;
    const text = isUsable
      ? "provided port is already allocated"
      : `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
    const error = invalidField(path, port, text);
    throw invalid({ group: "", kind: "Service" }, service.metadata.name ?? "", [error]);
  }

  #freePort(taken: ReadonlySet<string>, random: Random): number | undefined {
    const { first, last } = this.#nodePorts;
    const size = last - first + 1;
    const lower = Math.min(Math.max(16, Math.floor(size / 32)), 128);
    const offset = pick(size, lower, (n) => taken.has(String(first + n)), random);
    return offset === undefined ? undefined : first + offset;
  }
}

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;
const thingsOf = (service: Service | undefined): string[] => [
  ...addressesOf(service?.spec),
  ...nodePortsOf(service?.spec).map(String),
];

/** The first address names the range itself, and of IPv4 the last one means all. */
function isAssignable(value: bigint, { family, first, size }: IpRange): boolean {
  return value > first && (family === "IPv6" || value < first + size - 1n);
}

/** Chance keeps a service that is made again from getting the address that it had. */
function freeAddress(range: IpRange, taken: ReadonlySet<string>, random: Random): string | undefined {
  const usable = range.family === "IPv4" ? range.size - 2n : range.size - 1n;
  const size = Number(usable > 1n << 16n ? 1n << 16n : usable);
  const text = (n: number) => formatIp({ family: range.family, value: range.first + 1n + BigInt(n) });
  const lower = Math.min(Math.max(16, Math.floor(size / 16)), 256);
  const offset = pick(size, size <= 16 ? 0 : lower, (n) => taken.has(text(n)), random);
  return offset === undefined ? undefined : text(offset);
}

/** A free number below `size`, by chance; those below `lower` are left for people who choose one, while there are others. */
function pick(size: number, lower: number, isTaken: (n: number) => boolean, random: Random): number | undefined {
  for (const [from, to] of [
    [Math.min(lower, size), size],
    [0, Math.min(lower, size)],
  ] as const) {
    const count = to - from;
    const start = Math.floor(random() * count);
    for (let i = 0; i < count; i++) {
      const n = from + ((start + i) % count);
      if (!isTaken(n)) return n;
    }
  }
  return undefined;
}

function full(service: Service, what: string, why: string): StatusError {
  const text = `Internal error occurred: failed to allocate ${what} for Service ${JSON.stringify(service.metadata.name)}: ${why}`;
  return new StatusError(500, "InternalError", text, { causes: [{ message: text }] });
}
