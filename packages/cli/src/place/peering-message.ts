import type { Peering } from "@fjord/api";
import { getCondition } from "@fjord/kube";

type Told = Pick<Peering, "status">;

const STEPS = ["Paired", "Agreed", "Realised", "Ready"] as const;

/** Why a peering in force has not got the amounts that are asked for now; undefined where it has. */
export function otherAmountsMissed({ status }: Told): string | undefined {
  const { message = "" } = getCondition(status?.conditions, "Agreed") ?? {};
  return /is in force; other amounts: (.*)/s.exec(message)?.[1];
}

/** What its provider's owner gives of what is asked for; undefined where that is all. */
export function limitOf({ status }: Told): string | undefined {
  const { message = "" } = getCondition(status?.conditions, "Agreed") ?? {};
  return /is in force; limited by its provider: ([^;]*)/.exec(message)?.[1];
}

/** Answers that stay what they are until somebody changes something. */
export const REFUSALS: readonly string[] = ["AmountRefused"];
/** The same, whatever the amounts. */
export const CLOSED: readonly string[] = ["NotSharing", "ConsumerRefused"];

/** Whether the provider's last answer was no: who asks again wants another one, and not to be told of that one. */
export function wasRefused(peering: Told): boolean {
  const { reason = "" } = getCondition(peering.status?.conditions, "Agreed") ?? {};
  return REFUSALS.includes(reason) || CLOSED.includes(reason) || otherAmountsMissed(peering) !== undefined;
}

/** In one word; why there is no contract is told by that, and not by there being none. */
export function peeringReason({ status }: Told): string | undefined {
  const ready = getCondition(status?.conditions, "Ready");
  const agreed = getCondition(status?.conditions, "Agreed");
  return ready?.reason === "NotAgreed" ? (agreed?.reason ?? ready.reason) : ready?.reason;
}

/** What a peering waits for, in the words of the first step that is not done; of one in service, what it was refused. */
export function peeringMessage(peering: Told): string {
  const { status } = peering;
  const missed = otherAmountsMissed(peering);
  const waiting = STEPS.map((type) => getCondition(status?.conditions, type)).find(
    (condition) => condition !== undefined && condition.status !== "True" && condition.message !== "",
  );
  const agreed = getCondition(status?.conditions, "Agreed")?.message ?? "";
  const renewal = missed === undefined && agreed.includes("is in force; ") ? agreed : "";
  const refused = missed === undefined ? renewal : `other amounts: ${missed}`;
  const ready = getCondition(status?.conditions, "Ready")?.message ?? "";
  return [...new Set([waiting?.message ?? ready, refused])].filter((text) => text !== "").join("; ");
}
