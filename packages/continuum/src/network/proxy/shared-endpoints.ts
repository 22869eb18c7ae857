import type { EndpointSlice, Pod } from "@fjord/kube";
import { contains, type IpRange } from "../ip-range.ts";
import { parseAddress } from "../ranges.ts";

/** Where somebody serves. */
export interface ServedAt {
  readonly address: string;
  readonly port: number;
}

export function keyOf({ address, port }: ServedAt): string {
  return `${address} ${port}`;
}

/** What a Service of a namespace leads to. */
export interface SharedEndpoint extends ServedAt {
  readonly namespace: string;
}

/** What Services of some namespaces have in some ranges, ready or not, each once. Only TCP. */
export function endpointsWithin(
  slices: Iterable<EndpointSlice>,
  namespaces: ReadonlySet<string>,
  ranges: readonly IpRange[],
): SharedEndpoint[] {
  const found = new Map<string, SharedEndpoint>();
  for (const { metadata, endpoints, ports } of slices) {
    const { namespace = "" } = metadata;
    if (!namespaces.has(namespace)) continue;
    for (const address of (endpoints ?? []).flatMap(({ addresses }) => addresses)) {
      if (!isWithin(ranges, address)) continue;
      for (const { port, protocol = "TCP" } of ports ?? []) {
        const served = { address, port: Number(port), namespace };
        if (protocol === "TCP" && isPort(served.port) && !found.has(keyOf(served))) found.set(keyOf(served), served);
      }
    }
  }
  return [...found.values()];
}

export interface SharedThings {
  /** Those that this site and the caller share. */
  readonly namespaces: ReadonlySet<string>;
  readonly pods: Iterable<Pod>;
  readonly slices: Iterable<EndpointSlice>;
  /** What the caller may name at all. */
  readonly ranges: readonly IpRange[];
}

/**
 * The namespace by which somebody may be led there: of a pod that has the address for itself, at a port that it declares or that a
 * Service of the namespace leads to. Undefined for anything else, whatever a slice says: whoever writes slices names no machine's
 * own servers with it.
 */
export function sharedBy(wanted: ServedAt, { namespaces, pods, slices, ranges }: SharedThings): string | undefined {
  if (!isPort(wanted.port) || !isWithin(ranges, wanted.address)) return undefined;
  for (const pod of pods) {
    const { namespace = "" } = pod.metadata;
    if (!namespaces.has(namespace) || !hasAddress(pod, wanted.address)) continue;
    if (declares(pod, wanted.port)) return namespace;
    const served = endpointsWithin(slices, new Set([namespace]), ranges);
    if (served.some((each) => keyOf(each) === keyOf(wanted))) return namespace;
  }
  return undefined;
}

function hasAddress({ spec, status }: Pod, address: string): boolean {
  if (spec?.hostNetwork === true || status?.phase === "Succeeded" || status?.phase === "Failed") return false;
  return status?.podIP === address || (status?.podIPs ?? []).some(({ ip }) => ip === address);
}

function declares({ spec }: Pod, port: number): boolean {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  return containers.some(({ ports }) =>
    (ports ?? []).some((each) => each.containerPort === port && (each.protocol ?? "TCP") === "TCP"),
  );
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port <= 65535;
}

function isWithin(ranges: readonly IpRange[], text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && ranges.some((range) => contains(range, address));
}
