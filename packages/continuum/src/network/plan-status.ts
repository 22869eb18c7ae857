import type { AddressPlan, StatusOf } from "@fjord/api";
import { setCondition } from "@fjord/kube";
import { planReason } from "./address-plan.ts";

const messages: Readonly<Record<ReturnType<typeof planReason>, string>> = {
  NamesKnown: "",
  RangesUnknown:
    "no Node tells a range of pods that peers take, of /10 or less (IPv6: /40), and neither loopback, link-local nor multicast: say it in spec.network.podRanges of the own Site",
  AwaitingPeer: "the peer has not told its ranges, or what it calls those of this site",
  PoolExhausted: "spec.network.names of the own Site has no range left that is large enough",
};

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
      message: reason === "KeyTaken" ? `the peer says that it has the key of ${holder}` : messages[reason],
      ...(generation !== undefined && { observedGeneration: generation }),
    },
    now,
  );
  return { ...plan.status, conditions };
}
