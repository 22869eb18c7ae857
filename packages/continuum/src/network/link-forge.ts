import type { Link } from "@fjord/api";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import type { Group } from "./network-state.ts";
import type { OwnNetwork } from "./own-network.ts";

/** What the gateway is to bring about towards a peer. */
export function forgeLink(
  site: SiteId,
  { publicKey, endpoints }: Pick<NetworkFacts, "publicKey" | "endpoints">,
  { keepaliveSeconds }: Pick<OwnNetwork, "keepaliveSeconds">,
  groups: readonly Group[],
): Link["spec"] {
  return {
    site,
    publicKey,
    endpoints: [...endpoints],
    ...(keepaliveSeconds !== undefined && { keepaliveSeconds }),
    groups: groups.map(({ name, local, remote }) => ({ name, local: [...local], remote: [...remote] })),
  };
}
