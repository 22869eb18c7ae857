import { type Family, formatAddress, type IpRange, lastOf, parseRange } from "./ip-range.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** UDP; where gateways answer each other, on these addresses alone. */
export const PROBE_PORT = 7447;
/** Where gateways have their own addresses on links; no peer's range may be called so. */
export const LINK_RANGE: IpRange = parseRange("fd66:6a70::/32") as IpRange;

/** And on lanes beyond the first: each has its own, so that the range alone says which one leads there. */
const LANE_RANGE: IpRange = parseRange("fd66:6a80::/28") as IpRange;
export const LINK_RANGES: readonly IpRange[] = [LINK_RANGE, LANE_RANGE];

/** Where the addresses of one lane are. */
export function linkRange(lane: number): IpRange {
  if (lane === 0) return LINK_RANGE;
  return { ...LINK_RANGE, first: LANE_RANGE.first | (BigInt(lane) << 96n) };
}

/** Where gateways have addresses by which a hub leads them to each other; no peer's range may be called so. */
export const RELAY_RANGE: IpRange = parseRange("248.0.0.0/6") as IpRange;

/** What stands for exports at the site that has them: the same at every site, as each peer has a name of its own for it. */
export const EXPORT_RANGES: Readonly<Record<Family, IpRange>> = {
  4: parseRange("252.0.0.0/20") as IpRange,
  6: parseRange("fd66:6a71::/116") as IpRange,
};

/** What stands at every site for its machines, where these reach pods over links. No export has it. */
export const MACHINE_ADDRESSES: Readonly<Record<Family, string>> = {
  4: formatAddress(4, lastOf(EXPORT_RANGES[4])),
  6: formatAddress(6, lastOf(EXPORT_RANGES[6])),
};

/**
 * The address by which the gateway of a site is reached through a hub. Of IPv4, as every node that has pods passes that on. Two sites may have
 * the same one by chance: a site that has links with both through hubs has to do without the second.
 */
export function relayAddress(siteId: string): string {
  const hash = createHash("sha256").update(`fjord relay ${siteId}`).digest();
  return formatAddress(4, RELAY_RANGE.first | BigInt(hash.readUInt32BE(0) >>> RELAY_RANGE.length));
}

/**
 * The address that the gateway of a site has on links. Both ends know it by the site's id, so that nothing has to be agreed on; as the
 * only one that WireGuard takes such a source from is that site, what comes from it is the site's word.
 */
export function linkAddress(siteId: string, lane = 0): string {
  const bits = BigInt(`0x${createHash("sha256").update(`fjord link ${siteId}`).digest("hex").slice(0, 24)}`);
  return formatAddress(6, linkRange(lane).first | bits);
}
