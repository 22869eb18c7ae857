import type { EndpointSlice, Service } from "@fjord/kube";

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
}

/** One port of one Service as a node serves it. */
export interface ServicePort {
  /** `shop/web:http`, unique. */
  readonly id: string;
  readonly protocol: "TCP" | "UDP";
  /** Addresses inside the cluster. */
  readonly clusterIps: readonly string[];
  readonly port: number;
  /** Addresses of load balancers and others that are to be served here. */
  readonly externalIps: readonly string[];
  readonly nodePort: number | undefined;
  /** For clients inside the cluster. */
  readonly inside: readonly Endpoint[];
  /** For clients from outside, which come by node port or external address. */
  readonly outside: readonly Endpoint[];
  /** Whether outside clients are to be seen with their own address, because only endpoints of this node serve them. */
  readonly keepsClient: boolean;
  /** A client stays with its endpoint for this long after its last connection. */
  readonly affinitySeconds: number | undefined;
}

export interface PlanContext {
  readonly nodeName: string;
  readonly zone?: string;
}

type SlicePort = NonNullable<EndpointSlice["ports"]>[number];

interface Candidate extends Endpoint {
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  readonly isLocal: boolean;
  readonly zones: readonly string[];
}

/** What a node has to serve, from all Services and EndpointSlices. Headless and external ones are not its business. */
export function planServices(
  services: Iterable<Service>,
  slicesOf: (service: Service) => readonly EndpointSlice[],
  context: PlanContext,
): ServicePort[] {
  const plan: ServicePort[] = [];
  for (const service of services) {
    const { spec, metadata, status } = service;
    const clusterIps = (spec?.clusterIPs ?? [spec?.clusterIP ?? ""]).filter((ip) => ip !== "" && ip !== "None");
    if (spec === undefined || spec.type === "ExternalName" || clusterIps.length === 0) continue;
    const slices = slicesOf(service);
    const ingress = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, ipMode }) =>
      ip === undefined || ipMode === "Proxy" ? [] : [ip],
    );
    for (const port of spec.ports ?? []) {
      if (port.protocol === "SCTP") continue;
      const candidates = candidatesOf(slices, port.name ?? "", context);
      const isLocalInside = spec.internalTrafficPolicy === "Local";
      const isLocalOutside = spec.externalTrafficPolicy === "Local";
      plan.push({
        id: `${metadata.namespace}/${metadata.name}:${port.name ?? ""}`,
        protocol: port.protocol === "UDP" ? "UDP" : "TCP",
        clusterIps,
        port: port.port,
        externalIps: [...(spec.externalIPs ?? []), ...ingress],
        nodePort: port.nodePort === undefined || port.nodePort === 0 ? undefined : port.nodePort,
        inside: choose(candidates, isLocalInside, context),
        outside: choose(candidates, isLocalOutside, context),
        keepsClient: isLocalOutside,
        affinitySeconds:
          spec.sessionAffinity === "ClientIP"
            ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800)
            : undefined,
      });
    }
  }
  return plan;
}

function candidatesOf(slices: readonly EndpointSlice[], name: string, { nodeName }: PlanContext): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { ports, endpoints, addressType } of slices) {
    if (addressType === "FQDN") continue;
    const port = (ports ?? []).find((one: SlicePort) => (one.name ?? "") === name)?.port;
    if (port === undefined) continue;
    for (const { addresses, conditions, nodeName: on, hints } of endpoints ?? []) {
      const [ip] = addresses;
      if (ip === undefined) continue;
      const isReady = conditions?.ready !== false;
      found.set(`${ip} ${port}`, {
        ip,
        port,
        isReady,
        isServing: conditions?.serving ?? isReady,
        isTerminating: conditions?.terminating === true,
        isLocal: on === nodeName,
        zones: (hints?.forZones ?? []).map((hint) => hint.name),
      });
    }
  }
  return [...found.values()];
}

/** Ready ones; where there are none, those that still answer while they end. */
function choose(candidates: readonly Candidate[], isLocal: boolean, { zone }: PlanContext): Endpoint[] {
  const eligible = isLocal ? candidates.filter((one) => one.isLocal) : candidates;
  const ready = eligible.filter((one) => one.isReady);
  const usable = ready.length > 0 ? ready : eligible.filter((one) => one.isServing && one.isTerminating);
  return near(usable, isLocal ? undefined : zone)
    .map(({ ip, port }) => ({ ip, port }))
    .sort((a, b) => (a.ip < b.ip ? -1 : a.ip > b.ip ? 1 : a.port - b.port));
}

/** Hints are followed only where every endpoint has one and one of them is for this zone. */
function near(candidates: readonly Candidate[], zone: string | undefined): readonly Candidate[] {
  if (zone === undefined || candidates.some(({ zones }) => zones.length === 0)) return candidates;
  const here = candidates.filter(({ zones }) => zones.includes(zone));
  return here.length > 0 ? here : candidates;
}
