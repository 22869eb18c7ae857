import type { NetworkFacts } from "../protocol.ts";
import type { RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import type { HeardNetworks } from "./heard-networks.ts";

/** What a peer says of its network: unknown where it has not been heard since the agent started. */
export type PeerWord = { readonly facts?: NetworkFacts } | "unknown";

/** By itself, or when it was asked. */
export function peerWord(site: SiteId, heard: Pick<HeardNetworks, "get">, sites: Pick<RemoteSites, "get">): PeerWord {
  const said = heard.get(site);
  if (said?.facts !== undefined) return said;
  const report = sites.get(site)?.report;
  if (report?.network !== undefined) return { facts: report.network };
  return said === undefined && report === undefined ? "unknown" : {};
}
