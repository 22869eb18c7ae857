import type { EndpointSlice, Pod } from "@fjord/kube";
import { contains, type IpRange } from "../ip-range.ts";
import { parseAddress } from "../ranges.ts";
import { hasAddress } from "./carried-parties.ts";

export type Protocol = "TCP" | "UDP";

/** Where somebody serves. */
export interface ServedAt {
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
}

export function keyOf({ protocol, address, port }: ServedAt): string {
  return `${protocol} ${address} ${port}`;
}

/** What a Service of a namespace leads to. */
export interface SharedEndpoint extends ServedAt {
  readonly namespace: string;
}

export interface EndpointsOf {
  readonly endpoints: readonly SharedEndpoint[];
  /** Whether there are more. */
  readonly isCut: boolean;
}

/**
 * What Services of some namespaces have in some ranges, ready or not, by namespace and each once, and no more than so many of each. Whoever may write slices says how many there are, so that nothing is looked at beyond that.
 */
export function endpointsWithin(
  slices: Iterable<EndpointSlice>,
  namespaces: ReadonlySet<string>,
  ranges: readonly IpRange[],
  most: number,
): ReadonlyMap<string, EndpointsOf> {
  const found = new Map<string, { endpoints: Map<string, SharedEndpoint>; isCut: boolean }>();
  for (const slice of slices) {
    const { namespace = "" } = slice.metadata;
    if (!namespaces.has(namespace)) continue;
    const known = found.get(namespace) ?? { endpoints: new Map(), isCut: false };
    found.set(namespace, known);
    for (const served of known.isCut ? [] : servedBy(slice, ranges)) {
      const key = keyOf(served);
      known.isCut = !known.endpoints.has(key) && known.endpoints.size === most;
      if (known.isCut) break;
      if (!known.endpoints.has(key)) known.endpoints.set(key, { ...served, namespace });
    }
  }
  return new Map(
    [...found].map(([name, { endpoints, isCut }]) => [name, { endpoints: [...endpoints.values()], isCut }]),
  );
}

function* servedBy(slice: EndpointSlice, ranges: readonly IpRange[]): Generator<ServedAt> {
  const ports = portsOf(slice);
  for (const address of addressesOf(slice))
    if (isWithin(ranges, address)) for (const each of ports.values()) yield { address, ...each };
}

/** Which of these Services of some namespaces lead to, each slice being read once however many there are. */
export function stillServed<T extends ServedAt>(
  wanted: Iterable<T>,
  slices: Iterable<EndpointSlice>,
  namespaces: ReadonlySet<string>,
): ReadonlySet<T> {
  const byAddress = Map.groupBy(wanted, ({ address }) => address);
  const served = new Set<T>();
  for (const slice of slices) {
    if (!namespaces.has(slice.metadata.namespace ?? "")) continue;
    const ports = portsOf(slice);
    for (const address of addressesOf(slice))
      for (const each of byAddress.get(address) ?? []) if (ports.has(`${each.protocol} ${each.port}`)) served.add(each);
  }
  return served;
}

function* addressesOf({ endpoints }: EndpointSlice): Generator<string> {
  for (const { addresses } of endpoints ?? []) yield* addresses;
}

function portsOf({ ports }: EndpointSlice): ReadonlyMap<string, Pick<ServedAt, "protocol" | "port">> {
  const found = new Map<string, Pick<ServedAt, "protocol" | "port">>();
  for (const { protocol = "TCP", port } of ports ?? [])
    if (isProtocol(protocol) && isPort(Number(port)))
      found.set(`${protocol} ${port}`, { protocol, port: Number(port) });
  return found;
}

function isProtocol(text: string): text is Protocol {
  return text === "TCP" || text === "UDP";
}

export interface SharedThings {
  /** Those that this site and the caller share. */
  readonly namespaces: ReadonlySet<string>;
  readonly pods: Iterable<Pod>;
  readonly slices: Iterable<EndpointSlice>;
  /** What the caller may name at all. */
  readonly ranges: readonly IpRange[];
}

/** A pod that somebody may be led to, and the namespace by which. */
export interface SharedPod {
  readonly namespace: string;
  readonly pod: Pod;
}

/**
 * Whom somebody may be led to there: a pod that has the address for itself, at a port that it declares or that a
 * Service of the namespace leads to. Undefined for anything else, whatever a slice says: whoever writes slices names no machine's
 * own servers with it.
 */
export function sharedBy(wanted: ServedAt, { namespaces, pods, slices, ranges }: SharedThings): SharedPod | undefined {
  if (!isPort(wanted.port) || !isWithin(ranges, wanted.address)) return undefined;
  for (const pod of pods) {
    const { namespace = "" } = pod.metadata;
    if (!namespaces.has(namespace) || !hasAddress(pod, wanted.address)) continue;
    if (declares(pod, wanted)) return { namespace, pod };
    if (stillServed([wanted], slices, new Set([namespace])).size > 0) return { namespace, pod };
  }
  return undefined;
}

function declares({ spec }: Pod, { protocol, port }: ServedAt): boolean {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  return containers.some(({ ports }) =>
    (ports ?? []).some((each) => each.containerPort === port && (each.protocol ?? "TCP") === protocol),
  );
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port <= 65535;
}

function isWithin(ranges: readonly IpRange[], text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && ranges.some((range) => contains(range, address));
}
