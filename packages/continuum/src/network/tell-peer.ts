import type { Peering } from "@fjord/api";
import { againAfter, type Cache, done, type Result } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import type { NetworkFacts, NetworkWord } from "../protocol.ts";
import type { RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import { digestOf } from "./heard-networks.ts";

const REFUSED_MS = 15_000;
const LOST_MS = 1_000;

/** A consumer says by itself what its provider may not be able to ask, unless that has heard it already. */
export async function tellPeer(
  peers: { readonly sites: Pick<RemoteSites, "get">; readonly peerings: Pick<Cache<Peering>, "list"> },
  site: SiteId,
  facts: NetworkFacts | undefined,
  signal: AbortSignal,
): Promise<Result> {
  const remote = peers.sites.get(site);
  const isConsumer = peers.peerings.list().some(({ status }) => status?.siteId === site);
  if (!isConsumer || remote?.report === undefined || !remote.reachability.reachable) return done();
  if (remote.report.networkHeard === (facts && digestOf(facts))) return done();
  const word: NetworkWord = { network: facts ?? null };
  try {
    await remote.call("PUT", "/network", word, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    // One of before there were links knows nothing of it; one that was cut off is told when it is back.
    return againAfter(error instanceof PeerRefused ? REFUSED_MS : LOST_MS);
  }
  remote.refresh();
  return done();
}
