import type { SiteId } from "../../site-identity.ts";

/** Who has asked for a connection: a pod here, or the peer. */
export type Asker = "here" | "peer";

/** What is counted of connections that the agents carry. */
export interface ProxyMetrics {
  /** How many are open now. */
  open(site: SiteId, asker: Asker, count: number): void;
  /** One began. */
  begun(site: SiteId, asker: Asker): void;
  /** One did not come about: why, in one of a fixed set of words. */
  refused(site: SiteId, asker: Asker, reason: string): void;
  /** So many endpoints of the peer have no stand-in, because there are too many. */
  withoutStandIn(site: SiteId, count: number): void;
  /** A datagram was not passed on, as more came than went. */
  dropped(site: SiteId): void;
  sent(site: SiteId, bytes: number): void;
  received(site: SiteId, bytes: number): void;
}

export const noProxyMetrics: ProxyMetrics = {
  open() {},
  begun() {},
  refused() {},
  withoutStandIn() {},
  dropped() {},
  sent() {},
  received() {},
};
