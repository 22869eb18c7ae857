import type { AddressPlan, StatusOf } from "@fjord/api";
import { getCondition, setCondition } from "@fjord/kube";
import { planReason } from "../address-plan.ts";

const messages: Readonly<Record<ReturnType<typeof planReason>, string>> = {
  NamesKnown: "",
  RangesUnknown: "no Node of this site tells where its pods are on loopback",
  AwaitingPeer: "the peer has not told what it calls this site's pods: its agent may be older",
  PoolExhausted: "this site's nodes have no range left to stand in for the peer's pods: their pod range is too small",
};

/** What an AddressPlan says of itself; `missing` are endpoints of the peer that have no stand-in. */
export function proxyPlanStatus(plan: AddressPlan, missing: number, now: number): StatusOf<typeof AddressPlan> {
  const reason = planReason(plan.spec);
  const { generation } = plan.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const { conditions } = setCondition(
    plan.status?.conditions,
    {
      type: "Ready",
      status: reason === "NamesKnown" ? "True" : "False",
      reason,
      message: messages[reason],
      ...observed,
    },
    now,
  );
  const hasNoneMissing = missing === 0;
  if (hasNoneMissing && getCondition(conditions, "StandInsComplete") === undefined)
    return { ...plan.status, conditions };
  // No number: it changes with every endpoint, and is a metric.
  const standIns = {
    type: "StandInsComplete",
    status: hasNoneMissing ? "True" : "False",
    reason: hasNoneMissing ? "AllHaveOne" : "TooMany",
    message: hasNoneMissing
      ? ""
      : "some endpoints of the peer have no stand-in here, and are not reached: there are too many",
    ...observed,
  } as const;
  return { ...plan.status, conditions: setCondition(conditions, standIns, now).conditions };
}
