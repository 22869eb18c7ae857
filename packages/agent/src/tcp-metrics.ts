import type { TcpMetrics } from "@fjord/continuum/network";
import { Counter, Gauge, type Registry } from "@fjord/kube";

/** What the agent counts of packets that it carries for gateways, where UDP does not pass; `nameOf` says what a site is called here. */
export function tcpMetrics(registry: Registry, nameOf: (site: string) => string): TcpMetrics {
  const registers = [registry];
  const labelNames = ["site"] as const;
  const open = new Gauge({
    name: "fjord_link_tcp_connections",
    help: "Connections of the agents over which packets of gateways go now, by the peer",
    labelNames,
    registers,
  });
  const dropped = new Counter({
    name: "fjord_link_tcp_dropped_total",
    help: "Packets of gateways that were not carried, by reason: the connection is slower than what is sent (Slow), there is none (NoConnection), it is not of the own gateway (NotOfGateway), or none of WireGuard's (NotWireguard)",
    labelNames: ["site", "reason"] as const,
    registers,
  });
  const bytes = (name: string, help: string) => new Counter({ name, help, labelNames, registers });
  const received = bytes("fjord_link_tcp_received_bytes_total", "Bytes of packets that came for the gateway");
  const sent = bytes("fjord_link_tcp_sent_bytes_total", "Bytes of packets that went for the gateway");
  return {
    open: (site, count) => open.set({ site: nameOf(site) }, count),
    dropped: (site, reason) => dropped.inc({ site: nameOf(site), reason }),
    received: (site, count) => received.inc({ site: nameOf(site) }, count),
    sent: (site, count) => sent.inc({ site: nameOf(site) }, count),
  };
}
