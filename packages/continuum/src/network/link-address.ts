import { formatAddress, type IpRange, parseRange } from "./ip-range.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** UDP; where gateways answer each other, on these addresses alone. */
export const PROBE_PORT = 7447;
/** Where gateways have their own addresses on links; no peer's range may be called so. */
export const LINK_RANGE: IpRange = parseRange("fd66:6a70::/32") as IpRange;

/**
 * The address that the gateway of a site has on links. Both ends know it by the site's id, so that nothing has to be agreed on; as the
 * only one that WireGuard takes such a source from is that site, what comes from it is the site's word.
 */
export function linkAddress(siteId: string): string {
  const bits = BigInt(`0x${createHash("sha256").update(`fjord link ${siteId}`).digest("hex").slice(0, 24)}`);
  return formatAddress(6, LINK_RANGE.first | bits);
}
