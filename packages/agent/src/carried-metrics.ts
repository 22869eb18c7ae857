import type { ProxyMetrics } from "@fjord/continuum/network-proxy";
import { Counter, Gauge, type Registry } from "@fjord/kube";

/** What the agent counts of connections that it carries between pods; `nameOf` says what a site is called here. */
export function carriedMetrics(registry: Registry, nameOf: (site: string) => string): ProxyMetrics {
  const registers = [registry];
  const labelNames = ["site", "asker"] as const;
  const open = new Gauge({
    name: "fjord_carried_connections",
    help: "Open connections between pods that the agents carry, by the peer and by who asked for them: a pod here, or the peer",
    labelNames,
    registers,
  });
  const begun = new Counter({
    name: "fjord_carried_connections_total",
    help: "Connections between pods that the agents have carried",
    labelNames,
    registers,
  });
  const refused = new Counter({
    name: "fjord_carried_refused_total",
    help: "Connections between pods that did not come about, by reason",
    labelNames: ["site", "asker", "reason"] as const,
    registers,
  });
  const withoutStandIn = new Gauge({
    name: "fjord_carried_without_stand_in",
    help: "Endpoints of the peer that pods here do not reach, at least so many, because there are more than this site stands in for",
    labelNames: ["site"] as const,
    registers,
  });
  const dropped = new Counter({
    name: "fjord_carried_dropped_datagrams_total",
    help: "Datagrams between pods that were not passed on: more came than went, or nobody may have them",
    labelNames: ["site"] as const,
    registers,
  });
  const bytes = (name: string, help: string) => new Counter({ name, help, labelNames: ["site"] as const, registers });
  const received = bytes("fjord_carried_received_bytes_total", "Bytes that came in connections that the agents carry");
  const sent = bytes("fjord_carried_sent_bytes_total", "Bytes that went in connections that the agents carry");
  return {
    open: (site, asker, count) => open.set({ site: nameOf(site), asker }, count),
    begun: (site, asker) => begun.inc({ site: nameOf(site), asker }),
    refused: (site, asker, reason) => refused.inc({ site: nameOf(site), asker, reason }),
    withoutStandIn: (site, count) => withoutStandIn.set({ site: nameOf(site) }, count),
    dropped: (site) => dropped.inc({ site: nameOf(site) }),
    received: (site, count) => received.inc({ site: nameOf(site) }, count),
    sent: (site, count) => sent.inc({ site: nameOf(site) }, count),
  };
}
