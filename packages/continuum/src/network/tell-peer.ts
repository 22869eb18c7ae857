import type { Peering } from "@fjord/api";
import { againAfter, type Cache, done, type Result } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import type { NetworkFacts, NetworkWord } from "../protocol.ts";
import type { RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import { digestOf } from "./heard-networks.ts";

const REFUSED_MS = 15_000;
const LOST_MS = 1_000;

export interface ToldPeers {
  readonly sites: Pick<RemoteSites, "get">;
  readonly peerings: Pick<Cache<Peering>, "list">;
  /** What each was told last: its digest. */
  readonly told: Map<SiteId, string | undefined>;
}

/** A consumer says by itself what its provider may not be able to ask, unless that has heard it already. */
export async function tellPeer(
  { sites, peerings, told }: ToldPeers,
  site: SiteId,
  facts: NetworkFacts | undefined,
  signal: AbortSignal,
): Promise<Result> {
  const remote = sites.get(site);
  const isConsumer = peerings.list().some(({ status }) => status?.siteId === site);
  if (!isConsumer || remote?.report === undefined || !remote.reachability.reachable) return done();
  const digest = facts && digestOf(facts);
  if (isHeard(remote.report.networkHeard, facts, told.get(site) === digest)) return done();
  const word: NetworkWord = { network: facts ?? null };
  try {
    await remote.call("PUT", "/network", word, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    // One of before there were links knows nothing of it; one that was cut off is told when it is back.
    return againAfter(error instanceof PeerRefused ? REFUSED_MS : LOST_MS);
  }
  told.set(site, digest);
  remote.refresh();
  return done();
}

/** A provider of before there were proofs of keys has heard all but that, however often it is told. */
export function isHeard(heard: string | undefined, facts: NetworkFacts | undefined, isTold: boolean): boolean {
  if (facts === undefined) return heard === undefined;
  if (heard === digestOf(facts)) return true;
  const { keyProof, ...rest } = facts;
  return isTold && keyProof !== undefined && heard === digestOf(rest);
}
