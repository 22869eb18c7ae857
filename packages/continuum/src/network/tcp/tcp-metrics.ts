import type { SiteId } from "../../site-identity.ts";

/** Why a packet was not carried: the connection is slower than what is sent, there is none, it is not of the own gateway, or none of WireGuard's. */
export type DropReason = "Slow" | "NoConnection" | "NotOfGateway" | "NotWireguard";

/** What is counted of packets that the agent carries for gateways. */
export interface TcpMetrics {
  /** How many connections there are with the peer now. */
  open(site: SiteId, count: number): void;
  sent(site: SiteId, bytes: number): void;
  received(site: SiteId, bytes: number): void;
  dropped(site: SiteId, reason: DropReason): void;
}

export const noTcpMetrics: TcpMetrics = { open() {}, sent() {}, received() {}, dropped() {} };
