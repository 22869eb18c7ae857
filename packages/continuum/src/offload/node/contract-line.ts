import type { Contract } from "@fjord/api";

/** As many renewals and resizes as can be under way at once, and then some. */
const LONGEST_LINE = 64;

/**
 * The contract of this name, or what has superseded it: while a contract is renewed or resized, the old one may be over a
 * moment before the VirtualNode names the new one.
 */
export function newestOf(name: string, get: (name: string) => Contract | undefined): Contract | undefined {
  let contract = get(name);
  for (let steps = 0; steps < LONGEST_LINE; steps++) {
    const next = contract?.status?.supersededBy;
    const newer = next === undefined ? undefined : get(next);
    if (newer === undefined) break;
    contract = newer;
  }
  return contract;
}

/**
 * Whether an owner has ended it: no other follows unless somebody asks for one. One that ran out is asked for again, but where the
 * consumer's owner has said that it is not to be renewed.
 */
export function isEndedForGood(contract: Contract | undefined): boolean {
  const holds = (wanted: string) =>
    contract?.status?.conditions?.find(({ type, status }) => type === wanted && status === "True")?.reason;
  const ended = holds("Ended");
  if (ended === "Expired") return holds("Expiring") === "NotRenewed";
  return ended !== undefined && ["Revoked", "Cancelled", "PeerRemoved"].includes(ended);
}
