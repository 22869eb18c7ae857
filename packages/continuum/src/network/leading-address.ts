import { contains, type IpRange } from "./ip-range.ts";
import { SPECIAL } from "./names.ts";
import type { RangeSet } from "./range-set.ts";
import { parseAddress } from "./ranges.ts";

/** What a provider knows of addresses, for one consumer. */
export interface AddressOwners {
  /** What the consumer's pods are called here, and those at other sites that it has introduced. */
  readonly called: readonly IpRange[];
  /** What pods of any peer are called here. */
  readonly peers: Pick<RangeSet, "has">;
  /** The provider's pods, Services and nodes. */
  readonly own: Pick<RangeSet, "has">;
  /** Where names for peers come from. */
  readonly pools: () => readonly IpRange[];
  /** Whether the consumer knows what its pods are called here, and has no other words for them. */
  readonly isLinked: boolean;
}

/** Why endpoints of a consumer, which are no guests of its own, may not lead to an address; undefined where they may. */
export function leadingProblem(text: string, owners: AddressOwners): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return "is no address";
  const isIn = (ranges: readonly IpRange[]) => ranges.some((range) => contains(range, address));
  // The plan has seen to it that nothing else here has them.
  if (isIn(owners.called)) return undefined;
  if (owners.peers.has(address)) return "is what pods of another site are called at the provider";
  if (isIn(SPECIAL)) return "means a machine itself, its neighbours or a gateway";
  if (owners.own.has(address)) return "is one of the provider's own pods, Services or nodes";
  // A name that nobody has leads nowhere: it may be one of a moment ago.
  if (!owners.isLinked || isIn(owners.pools())) return undefined;
  return "is nothing that pods of the consumer are called at the provider";
}
