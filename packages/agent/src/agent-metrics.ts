import { CERTIFICATE_REFUSED_TOTAL, PAIRING_REFUSED_TOTAL, type RefusalCounter } from "@fjord/continuum/identity";
import type { PeerMetrics } from "@fjord/continuum/peering";
import type { ReflectionCounters } from "@fjord/continuum/reflect";
import { Counter, Gauge, Histogram, type Registry } from "@fjord/kube";

export interface AgentMetrics {
  readonly peers: PeerMetrics;
  readonly pairingRefused: RefusalCounter;
  readonly certificateRefused: RefusalCounter;
  readonly reflection: ReflectionCounters;
}

/** What the agent counts beside what its controllers do. */
export function agentMetrics(registry: Registry): AgentMetrics {
  const registers = [registry];
  const refusals = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ["reason"] as const, registers });
  const requests = new Histogram({
    name: "fjord_peer_request_seconds",
    help: "Requests of other agents, by route and status",
    labelNames: ["route", "status"] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  const refused = refusals(
    "fjord_peer_connections_refused_total",
    "Connections of other agents that were refused, by reason",
  );
  const open = new Gauge({ name: "fjord_peer_connections", help: "Open connections of other agents", registers });
  const proxied = new Histogram({
    name: "fjord_proxy_request_seconds",
    help: "Requests of tenants to the Kubernetes API, by verb, resource and status",
    labelNames: ["verb", "resource", "status"] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  const reflected = new Counter({
    name: "fjord_reflection_items_total",
    help: "Writes of twins and of events from other sites, by resource and action",
    labelNames: ["resource", "action"] as const,
    registers,
  });
  const unreflected = new Counter({
    name: "fjord_reflection_errors_total",
    help: "Twins that could not be written, by resource and reason",
    labelNames: ["resource", "reason"] as const,
    registers,
  });
  return {
    reflection: {
      item: (resource, action) => reflected.inc({ resource, action }),
      error: (resource, reason) => unreflected.inc({ resource, reason }),
    },
    peers: {
      request: (route, status, seconds) => requests.observe({ route, status }, seconds),
      connectionRefused: (reason) => refused.inc({ reason }),
      connections: (count) => open.set({}, count),
      proxied: (verb, resource, status, seconds) => proxied.observe({ verb, resource, status }, seconds),
    },
    pairingRefused: refusals(PAIRING_REFUSED_TOTAL, "Pairings that were refused, by reason"),
    certificateRefused: refusals(
      CERTIFICATE_REFUSED_TOTAL,
      "Certificates of other agents that were refused, by reason",
    ),
  };
}
