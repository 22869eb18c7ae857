import type { ConditionOf, Peering, StatusOf } from "@fjord/api";
import { type NewCondition, setCondition } from "@fjord/kube";

type PeeringCondition = ConditionOf<typeof Peering>;
type ReasonOf<Type extends PeeringCondition["type"]> = Extract<PeeringCondition, { type: Type }>["reason"];

/** One condition's answer: it holds where the reason is the good one. */
export interface Answer<Type extends PeeringCondition["type"]> {
  readonly reason: ReasonOf<Type>;
  readonly message?: string;
}

/** What is known of a Peering. Each step needs the one before it. */
export interface Outlook {
  readonly paired: Answer<"Paired">;
  readonly agreed: Answer<"Agreed">;
  readonly realised: Answer<"Realised">;
  readonly ready: Answer<"Ready">;
  readonly siteId?: string;
  readonly contract?: string;
  readonly virtualNode?: string;
}

const good = { Paired: "Accepted", Agreed: "ContractActive", Realised: "NodeMade", Ready: "InService" } as const;

/** The status that says so; what is not known now stays as it was. */
export function peeringStatus(peering: Peering, outlook: Outlook, now: number): StatusOf<typeof Peering> {
  let { conditions } = peering.status ?? {};
  const observedGeneration = peering.metadata.generation;
  const set = <Type extends PeeringCondition["type"]>(type: Type, { reason, message = "" }: Answer<Type>) => {
    const status = reason === good[type] ? "True" : "False";
    const wanted = { type, status, reason, message, ...(observedGeneration !== undefined && { observedGeneration }) };
    conditions = setCondition(conditions, wanted as NewCondition<PeeringCondition>, now).conditions;
  };
  set("Paired", outlook.paired);
  set("Agreed", outlook.agreed);
  set("Realised", outlook.realised);
  set("Ready", outlook.ready);
  const { siteId, contract, virtualNode } = outlook;
  return {
    ...peering.status,
    ...(siteId !== undefined && { siteId }),
    ...(contract !== undefined && { contract }),
    ...(virtualNode !== undefined && { virtualNode }),
    ...(conditions && { conditions }),
  };
}

/** Nothing was agreed for want of somebody to ask. */
export function notPaired(paired: Answer<"Paired">): Outlook {
  return {
    paired,
    agreed: { reason: "NotPaired" },
    realised: { reason: "NotAgreed" },
    ready: paired.reason === "SiteUnreachable" ? { reason: "SiteUnreachable" } : { reason: "NotPaired" },
  };
}
