import type { AddressPlan, StatusOf } from "@fjord/api";
import { getCondition, setCondition } from "@fjord/kube";
import { planReason } from "./address-plan.ts";
import type { LeftOut } from "./link-room.ts";

const messages: Readonly<Record<ReturnType<typeof planReason>, string>> = {
  NamesKnown: "",
  RangesUnknown:
    "no Node tells a range of pods that peers take, of /10 or less (IPv6: /40), and neither loopback, link-local nor multicast: say it in spec.network.podRanges of the own Site",
  AwaitingPeer: "the peer has not told what it calls the ranges of this site",
  PoolExhausted: "spec.network.names of the own Site has no range left that is large enough",
};

const UNTOLD = "the peer has not told its ranges: it does not answer, or has no spec.network in its own Site there";

function messageOf(reason: ReturnType<typeof planReason>, { peer }: AddressPlan["spec"]): string {
  return reason === "AwaitingPeer" && peer.length === 0 ? UNTOLD : messages[reason];
}

/** `holder` is who else has the peer's key, where somebody has. */
export function planStatus(plan: AddressPlan, now: number, holder?: string): StatusOf<typeof AddressPlan> {
  const reason = holder === undefined ? planReason(plan.spec) : "KeyTaken";
  const { generation } = plan.metadata;
  const { conditions } = setCondition(
    plan.status?.conditions,
    {
      type: "Ready",
      status: reason === "NamesKnown" ? "True" : "False",
      reason,
      message: reason === "KeyTaken" ? `the peer says that it has the key of ${holder}` : messageOf(reason, plan.spec),
      ...(generation !== undefined && { observedGeneration: generation }),
    },
    now,
  );
  return { ...plan.status, conditions };
}

/** So many consumers are named. */
const MOST_NAMED = 8;

/** What it says of itself, with what its Link had no room for. While not all is known that is to be listed, nobody can tell that there is room again. */
export function withLeftOut(
  { metadata, status }: Pick<AddressPlan, "metadata" | "status">,
  { pair, consumers, homeWords }: LeftOut,
  now: number,
  isAllKnown = true,
): StatusOf<typeof AddressPlan> {
  const conditions = status?.conditions ?? [];
  const isComplete = !pair && consumers.length === 0 && !homeWords;
  const before = getCondition(conditions, "LinkComplete")?.status;
  if (isComplete && (before === undefined || (before === "False" && !isAllKnown))) return { ...status, conditions };
  const others = consumers.length > MOST_NAMED ? ` and ${consumers.length - MOST_NAMED} more` : "";
  const left = [
    ...(pair ? ["some pods of the two sites do not meet"] : []),
    ...(consumers.length > 0
      ? [`some guests of ${consumers.slice(0, MOST_NAMED).join(", ")}${others} do not meet those at the peer`]
      : []),
    ...(homeWords ? ["some guests of the peer are not led by what their home calls others"] : []),
  ];
  const { generation } = metadata;
  const condition = {
    type: "LinkComplete",
    status: isComplete ? "True" : "False",
    reason: isComplete ? "AllListed" : "TooMany",
    // No number: it would be another one with every pod.
    message: isComplete ? "" : `there are more addresses than one Link can hold: ${left.join("; ")}`,
    ...(generation !== undefined && { observedGeneration: generation }),
  } as const;
  return { ...status, conditions: setCondition(conditions, condition, now).conditions };
}
