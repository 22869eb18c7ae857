import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SiteId } from "../../site-identity.ts";
import { carry } from "./carry.ts";
import { FairPlaces } from "./fair-places.ts";
import type { Asker, ProxyMetrics } from "./proxy-metrics.ts";

/** So many at once with one peer, of each sort, and half of them for one namespace. */
export const MOST_CONNECTIONS = 512;

interface Carried {
  readonly site: SiteId;
  readonly namespace: string;
  readonly local: Socket;
  readonly carrier: Duplex;
}

/** The connections that are carried now, of one sort, and how many of each peer there are. */
export class CarriedConnections {
  readonly #asker: Asker;
  readonly #metrics: ProxyMetrics;
  readonly #places = new Map<SiteId, FairPlaces>();
  readonly #open = new Set<Carried>();

  constructor(asker: Asker, metrics: ProxyMetrics) {
    this.#asker = asker;
    this.#metrics = metrics;
  }

  /** A place for one more, to be given back; undefined where all are taken, or too many by the same namespace. */
  take(site: SiteId, namespace: string): (() => void) | undefined {
    const places = this.#places.get(site) ?? new FairPlaces(MOST_CONNECTIONS);
    const giveBack = places.take(namespace);
    if (giveBack === undefined) return undefined;
    this.#places.set(site, places);
    const tell = () => this.#metrics.open(site, this.#asker, places.taken);
    tell();
    return () => {
      giveBack();
      tell();
      if (places.taken === 0) this.#places.delete(site);
    };
  }

  /** Carries it until both of its ends are closed. */
  async carry(site: SiteId, namespace: string, local: Socket, carrier: Duplex): Promise<void> {
    const metrics = this.#metrics;
    const carried = { site, namespace, local, carrier };
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
    for (const { site, namespace, local, carrier } of this.#open) {
      if (isAllowed(site, namespace)) continue;
      local.resetAndDestroy();
      carrier.destroy();
    }
  }

  end(): void {
    this.keepOnly(() => false);
  }
}
