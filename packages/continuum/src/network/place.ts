import { contains } from "./ip-range.ts";
import { EXPORT_RANGES } from "./link-address.ts";
import { SPECIAL } from "./names.ts";
import { parseAddress, parseCidrs } from "./ranges.ts";

/**
 * Whether somebody may be at an address and port that another one has told: that of one host, and none that means something else at every
 * site, as loopback or what gateways have on links.
 */
export function isPlace(endpoint: string): boolean {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-f.:]+)\]|([0-9.]+)):([1-9][0-9]{0,4})$/.exec(endpoint) ?? [];
  const address = parseAddress(bracketed ?? plain ?? "");
  if (address === undefined || Number(port) > 65_535 || (address.family === 6) !== (bracketed !== undefined))
    return false;
  return !NOWHERE.some((range) => contains(range, address));
}

/** Nobody has the last two: what is called so here is at a peer, and what would go there goes into a link again. */
const NOWHERE = [...SPECIAL, ...Object.values(EXPORT_RANGES), ...parseCidrs(["240.0.0.0/4", "fd66:6a6f::/32"])];
