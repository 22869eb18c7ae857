import type { Peering } from "@fjord/api";
import { type Clock, TokenBucket } from "@fjord/base";
import type { Cache } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import type { NetworkFacts, NetworkWord } from "../protocol.ts";
import type { RemoteSite, RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import { digestOf } from "./heard-networks.ts";

const REFUSED_MS = 15_000;
const LOST_MS = 1_000;
/** How often a provider is told, whatever it says that it has heard: one that never has heard it would be told without end. */
const PACE = { burst: 10, perSecond: 1 } as const;

export interface PeerTellerOptions {
  readonly sites: Pick<RemoteSites, "get">;
  readonly peerings: Pick<Cache<Peering>, "list">;
  readonly clock: Pick<Clock, "now">;
  /** Has it looked at, so much later, what a site is to be told. */
  readonly look: (site: SiteId, afterMs: number) => void;
}

/**
 * A consumer says by itself what its provider may not be able to ask, unless that has heard it already. One thing at a time to each, and nobody waits for the answer: a provider
 * that gives none holds up nothing but what it is told.
 */
export class PeerTeller {
  readonly #options: PeerTellerOptions;
  /** What each was told last: its digest. */
  readonly #told = new Map<SiteId, string | undefined>();
  readonly #paces = new Map<SiteId, TokenBucket>();
  /** What those are told that have not answered yet, and whether something else is to be said by then. */
  readonly #asked = new Map<SiteId, { readonly digest: string | undefined; isMore: boolean }>();
  readonly #over = new AbortController();

  constructor(options: PeerTellerOptions) {
    this.#options = options;
  }

  tell(site: SiteId, facts: NetworkFacts | undefined): void {
    const digest = facts && digestOf(facts);
    const before = this.#asked.get(site);
    if (before !== undefined) {
      before.isMore = before.digest !== digest;
      return;
    }
    const { sites, peerings, look } = this.#options;
    const remote = sites.get(site);
    const isConsumer = peerings.list().some(({ status }) => status?.siteId === site);
    if (!isConsumer || remote?.report === undefined || !remote.reachability.reachable) return;
    if (isHeard(remote.report.networkHeard, facts, this.#told.get(site) === digest)) return;
    const wait = this.#waitFor(site);
    if (wait > 0) {
      look(site, wait);
      return;
    }
    const asked = { digest, isMore: false };
    this.#asked.set(site, asked);
    void this.#say(remote, facts).then((afterMs) => {
      this.#asked.delete(site);
      if (this.#over.signal.aborted) return;
      if (afterMs === undefined) {
        this.#told.set(site, digest);
        remote.refresh();
      }
      if (asked.isMore) look(site, 0);
      else if (afterMs !== undefined) look(site, afterMs);
    });
  }

  /** What is under way is dropped. */
  close(): void {
    this.#over.abort();
  }

  /** Milliseconds until it is tried again; undefined where it was heard. */
  async #say(remote: RemoteSite, facts: NetworkFacts | undefined): Promise<number | undefined> {
    const word: NetworkWord = { network: facts ?? null };
    try {
      await remote.call("PUT", "/network", word, this.#over.signal);
      return undefined;
    } catch (error) {
      // One of before there were links knows nothing of it; one that was cut off is told when it is back.
      return error instanceof PeerRefused ? REFUSED_MS : LOST_MS;
    }
  }

  #waitFor(site: SiteId): number {
    const { clock } = this.#options;
    const pace = this.#paces.get(site) ?? new TokenBucket({ ...PACE, clock });
    this.#paces.set(site, pace);
    return pace.tryTake() ? 0 : 1_000 / PACE.perSecond;
  }
}

/** A provider of before there were proofs of keys has heard all but that, however often it is told. */
export function isHeard(heard: string | undefined, facts: NetworkFacts | undefined, isTold: boolean): boolean {
  if (facts === undefined) return heard === undefined;
  if (heard === digestOf(facts)) return true;
  const { keyProof, ...rest } = facts;
  return isTold && keyProof !== undefined && heard === digestOf(rest);
}
