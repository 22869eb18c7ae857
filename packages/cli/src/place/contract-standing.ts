import type { Contract } from "@fjord/api";
import { getCondition } from "@fjord/kube";

type Standing = Contract["spec"]["standing"];
type Told = Pick<Contract, "spec" | "status">;

/**
 * What both owners want of a contract: `Open`, `Cordoned`, `Drained by lively-wave`. Nothing counts once it is over, but that its provider had closed
 * it.
 */
export function standingOf({ spec, status }: Told, other: string): string | undefined {
  if (isClosedStill({ spec, ...(status && { status }) })) return spec.standing;
  if (status?.phase === "Ended") return undefined;
  const theirs = isClosed(status?.peerStanding) ? [`${status.peerStanding} by ${other}`] : [];
  const own = isClosed(spec.standing) || theirs.length === 0 ? [spec.standing] : [];
  return [...own, ...theirs].join(", ");
}

/** Whether this site, as its provider, had closed a contract that is over: its consumer is given no other until that is taken back. */
export function isClosedStill({ spec, status }: Told): boolean {
  const ended = getCondition(status?.conditions, "Ended");
  const endedByItself = ended?.status === "True" && (ended.reason === "Cancelled" || ended.reason === "Expired");
  return endedByItself && status?.side === "Provider" && isClosed(spec.standing);
}

/** In a sentence; undefined where both sides serve pods. */
export function closedBy(contract: Told, other: string): string | undefined {
  const standing = standingOf(contract, other);
  return standing === undefined || standing === "Open" ? undefined : standing.replace(/^\w|, \w/g, lower);
}

/** What the other side has against pods, which nobody but its owner can take back; undefined where it has nothing. */
export function closedThere({ spec, status }: Told, other: string): string | undefined {
  return closedBy({ spec: { ...spec, standing: "Open" }, ...(status && { status }) }, other);
}

/** Whether a provider still takes pods of this site, by whichever contract. */
export function takesPods(contracts: readonly Told[], provider: string): boolean {
  return contracts.some(({ spec, status }) => {
    const isOurs = status?.side === "Consumer" && status.phase === "Active" && spec.terms.provider === provider;
    return isOurs && standingOf({ spec, status }, provider) === "Open";
  });
}

function isClosed(standing: Standing | undefined): standing is "Cordoned" | "Drained" {
  return standing === "Cordoned" || standing === "Drained";
}

function lower(text: string): string {
  return text.toLowerCase();
}
