import type { ConditionOf, Contract, StatusOf } from "@fjord/api";
import { isConditionTrue, type NewCondition, setCondition } from "@fjord/kube";
import { type ContractReport, HELD_MS, type Standing } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { lifetimeOf } from "./lifetime.ts";

export type Side = "Consumer" | "Provider";
export type Phase = ContractReport["phase"];
type ContractCondition = ConditionOf<typeof Contract>;
type ReasonOf<Type extends ContractCondition["type"]> = Extract<ContractCondition, { type: Type }>["reason"];
export type EndReason = Exclude<ReasonOf<"Ended">, "InForce">;
export type ExpiringReason = Exclude<ReasonOf<"Expiring">, "FarFromEnd">;
export type ContractStatus = StatusOf<typeof Contract>;

/** How long an ended contract is kept for whoever wants to know what became of it. */
export const KEPT_MS = 3_600_000;
/** How far two sites' clocks may differ before a contract counts as not begun. */
export const SKEW_MS = 300_000;

/** What a site is in a contract; undefined where it is no part of it. */
export function sideOf(contract: Contract, site: SiteId): Side | undefined {
  const { consumer, provider } = contract.spec.terms;
  return site === provider ? "Provider" : site === consumer ? "Consumer" : undefined;
}

export function isSigned({ spec, status }: Contract): boolean {
  const signers = status?.signatures?.map(({ site }) => site) ?? [];
  return signers.includes(spec.terms.consumer) && signers.includes(spec.terms.provider);
}

/** Why the contract is over at that moment; undefined while it is not. Once it was over, it stays so. */
export function endOf(contract: Contract, side: Side, now: number): EndReason | undefined {
  const ended = contract.status?.conditions?.find(({ type, status }) => type === "Ended" && status === "True");
  if (ended !== undefined) return ended.reason as EndReason;
  if (contract.spec.standing === "Ended") return side === "Provider" ? "Revoked" : "Cancelled";
  if (contract.status?.peerStanding === "Ended") return side === "Provider" ? "Cancelled" : "Revoked";
  return lifetimeOf(contract).ends <= now ? "Expired" : undefined;
}

/** When an unsigned proposal is no longer held. */
export function heldUntil(contract: Contract): number {
  return lifetimeOf(contract).begins + HELD_MS;
}

/** Whether the contract, or the proposal, takes from what its provider shares. */
export function isPromise(contract: Contract, now: number): boolean {
  if (endOf(contract, "Provider", now) !== undefined) return false;
  return isSigned(contract) || now < heldUntil(contract);
}

/** Whether pods may use it, were it not for cordons. */
export function isInForce(contract: Contract, side: Side, now: number): boolean {
  return isSigned(contract) && endOf(contract, side, now) === undefined;
}

/** What both owners want together: the more restrictive of the two. */
export function standingOf({ spec, status }: Contract): Standing {
  const order: readonly Standing[] = ["Open", "Cordoned", "Drained", "Ended"];
  const rank = Math.max(order.indexOf(spec.standing), order.indexOf(status?.peerStanding ?? "Open"));
  return order[rank] ?? "Open";
}

export function phaseOf(contract: Contract, side: Side, now: number): Phase {
  if (endOf(contract, side, now) !== undefined) return "Ended";
  if (!isSigned(contract)) return "Proposed";
  return now >= lifetimeOf(contract).renewable ? "Expiring" : "Active";
}

/** When it ended, as its status says; undefined where it has not said so yet. */
export function endedAt({ status }: Contract): number | undefined {
  const ended = status?.conditions?.find((condition) => condition.type === "Ended" && condition.status === "True");
  return ended && Date.parse(ended.lastTransitionTime);
}

/** Nobody asks for one that was cancelled or superseded, but for an answer that was lost. */
const LET_GO_MS = 5_000;

/** How long a contract that has ended is kept, so that whoever asks hears why. */
export function keptMs({ status }: Contract, side: Side): number {
  const reason = status?.conditions?.find(({ type }) => type === "Ended")?.reason;
  return side === "Provider" && (reason === "Cancelled" || reason === "Superseded") ? LET_GO_MS : KEPT_MS;
}

/**
 * Whether the provider's owner had closed a contract that ended without them: it ran out, or the consumer cancelled it. What they said of it outlasts
 * it, or whoever it is for would be rid of it by asking anew.
 */
export function isClosedStill(contract: Contract, now: number): boolean {
  const end = endOf(contract, "Provider", now);
  const { standing } = contract.spec;
  return (end === "Cancelled" || end === "Expired") && (standing === "Cordoned" || standing === "Drained");
}

/** The next moment at which time alone changes something. */
export function nextMoment(contract: Contract, side: Side, now: number): number {
  const since = endedAt(contract);
  if (since !== undefined) return since + keptMs(contract, side);
  const { renewable, ends } = lifetimeOf(contract);
  if (!isSigned(contract) && side === "Provider") return Math.min(heldUntil(contract), ends);
  return now < renewable ? renewable : ends;
}

/** The status that a contract is to have: what is known of it already, with phase and conditions as of now. */
export function lifeStatus(
  contract: Contract,
  side: Side,
  now: number,
  expiring: ExpiringReason = "RenewalPending",
): ContractStatus {
  const phase = phaseOf(contract, side, now);
  const end = endOf(contract, side, now);
  let conditions = contract.status?.conditions;
  const set = (type: ContractCondition["type"], holds: boolean, reason: string, message = "") => {
    const observedGeneration = contract.metadata.generation;
    const status = holds ? "True" : "False";
    const wanted = { type, status, reason, message, ...(observedGeneration !== undefined && { observedGeneration }) };
    conditions = setCondition(conditions, wanted as NewCondition<ContractCondition>, now).conditions;
  };
  const signed = isSigned(contract);
  set("Signed", signed, signed ? "BothSigned" : side === "Provider" ? "AwaitingConsumer" : "AwaitingProvider");
  const inactive = inactiveReason(contract, end, now);
  set("Active", inactive === undefined, inactive ?? "InForce");
  if (end === undefined) set("Expiring", phase === "Expiring", phase === "Expiring" ? expiring : "FarFromEnd");
  set("Ended", end !== undefined, end ?? "InForce");
  return { ...contract.status, side, phase, ...(conditions && { conditions }) };
}

function inactiveReason(contract: Contract, end: EndReason | undefined, now: number): ReasonOf<"Active"> | undefined {
  if (end !== undefined) return "Ended";
  if (!isSigned(contract)) return "NotSigned";
  if (lifetimeOf(contract).begins > now + SKEW_MS) return "NotBegun";
  const standing = standingOf(contract);
  return standing === "Cordoned" || standing === "Drained" ? standing : undefined;
}

/** The status of a contract that ends now for a reason that its own fields do not say. */
export function endedStatus(contract: Contract, side: Side, now: number, reason: EndReason): ContractStatus {
  const wanted = { type: "Ended", status: "True", reason, message: "" } as const;
  const { conditions } = setCondition<ContractCondition>(contract.status?.conditions, wanted, now);
  return lifeStatus({ ...contract, status: { ...contract.status, conditions } }, side, now);
}

export function hasEnded({ status }: Contract): boolean {
  return isConditionTrue(status?.conditions, "Ended");
}
