import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SiteId } from "../../site-identity.ts";
import { carry } from "./carry.ts";
import { FairPlaces } from "./fair-places.ts";
import type { Asker, ProxyMetrics } from "./proxy-metrics.ts";
import type { Protocol } from "./shared-endpoints.ts";

/** So many at once with one peer, of each sort, and half of them for one namespace and protocol. */
export const MOST_CONNECTIONS = 512;

interface Carried {
  readonly isAllowed: () => boolean;
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
  take(site: SiteId, namespace: string, protocol: Protocol = "TCP"): (() => void) | undefined {
    const places = this.#places.get(site) ?? new FairPlaces(MOST_CONNECTIONS);
    // Flows of datagrams have no end of their own, and are not to take the places of connections.
    const giveBack = places.take(`${protocol} ${namespace}`);
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

  /** Carries it until it has ended, or may no longer be; true where the carrier may carry another one. */
  async carry(site: SiteId, local: Socket, carrier: Duplex, isAllowed: () => boolean): Promise<boolean> {
    const metrics = this.#metrics;
    const carried = { isAllowed, local, carrier };
    this.#open.add(carried);
    metrics.begun(site, this.#asker);
    try {
      return await carry(local, carrier, {
        sent: (bytes) => metrics.sent(site, bytes),
        received: (bytes) => metrics.received(site, bytes),
      });
    } finally {
      this.#open.delete(carried);
    }
  }

  /** Ends those that may no longer be. */
  lookAgain(): void {
    for (const each of this.#open) if (!each.isAllowed()) cut(each);
  }

  end(): void {
    for (const each of this.#open) cut(each);
  }
}

function cut({ local, carrier }: Carried): void {
  local.resetAndDestroy();
  carrier.destroy();
}
