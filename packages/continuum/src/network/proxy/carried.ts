import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SiteId } from "../../site-identity.ts";
import { carry } from "./carry.ts";
import type { Asker, ProxyMetrics } from "./proxy-metrics.ts";

/** So many at once with one peer, of each sort: beyond that whoever comes has to wait for others to end. */
export const MOST_CONNECTIONS = 256;

interface Carried {
  readonly site: SiteId;
  readonly namespace: string;
  readonly local: Socket;
}

/** The connections that are carried now, of one sort, and how many of each peer there are. */
export class CarriedConnections {
  readonly #asker: Asker;
  readonly #metrics: ProxyMetrics;
  readonly #counts = new Map<SiteId, number>();
  readonly #open = new Set<Carried>();

  constructor(asker: Asker, metrics: ProxyMetrics) {
    this.#asker = asker;
    this.#metrics = metrics;
  }

  /** A place for one more, to be given back; undefined where all are taken. */
  take(site: SiteId): (() => void) | undefined {
    const count = this.#counts.get(site) ?? 0;
    if (count >= MOST_CONNECTIONS) return undefined;
    this.#set(site, count + 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#set(site, (this.#counts.get(site) ?? 1) - 1);
      isTaken = false;
    };
  }

  /** Carries it until it ends. */
  async carry(site: SiteId, namespace: string, local: Socket, carrier: Duplex): Promise<void> {
    const metrics = this.#metrics;
    const carried = { site, namespace, local };
    this.#open.add(carried);
    metrics.begun(site, this.#asker);
    try {
      await carry(local, carrier, {
        sent: (bytes) => metrics.sent(site, bytes),
        received: (bytes) => metrics.received(site, bytes),
      });
    } finally {
      this.#open.delete(carried);
    }
  }

  /** Ends those that may no longer be. */
  keepOnly(isAllowed: (site: SiteId, namespace: string) => boolean): void {
    for (const { site, namespace, local } of this.#open) if (!isAllowed(site, namespace)) local.resetAndDestroy();
  }

  end(): void {
    this.keepOnly(() => false);
  }

  #set(site: SiteId, count: number): void {
    if (count === 0) this.#counts.delete(site);
    else this.#counts.set(site, count);
    this.#metrics.open(site, this.#asker, count);
  }
}
