import type { ConditionOf, Offloading } from "@fjord/api";
import { type NewCondition, type Node, setCondition } from "@fjord/kube";
import { type ReflectionRule, rulesCondition } from "../../reflection-rules.ts";
import { selectorMissed } from "./selector-missed.ts";
import { isUsable, type TwinFacts } from "./twin-step.ts";

type SiteStatus = NonNullable<NonNullable<Offloading["status"]>["sites"]>[number];
type TwinReason = NonNullable<SiteStatus["conditions"]>[number]["reason"];
type OffloadingCondition = ConditionOf<typeof Offloading>;
type ReadyReason = Extract<OffloadingCondition, { type: "Ready" }>["reason"];
export type OffloadingStatus = NonNullable<Offloading["status"]>;

/**
 * The status that an Offloading is to have. Pure; times of conditions are kept where nothing has changed. `nodes`: the virtual
 * ones, to say why none is selected. `own`: the rules of the own Site.
 */
export function offloadingStatus(
  offloading: Offloading,
  facts: readonly TwinFacts[],
  now: number,
  nodes: readonly Node[] = [],
  own: readonly ReflectionRule[] = [],
): OffloadingStatus {
  const { generation = 0, deletionTimestamp } = offloading.metadata;
  const known = new Map((offloading.status?.sites ?? []).map((site) => [site.site, site]));
  const sites = facts.map((each) => siteStatus(each, known.get(each.site), generation, now));
  const wanted = new Set(facts.filter((each) => each.wanted).map(({ site }) => site));
  const ready = sites.filter(({ site, conditions }) => wanted.has(site) && conditions?.[0]?.status === "True").length;
  const isRemoved = deletionTimestamp !== undefined;
  const verdict =
    wanted.size === 0 && !isRemoved
      ? noneEligible(selectorMissed(offloading.spec.sites, nodes))
      : verdictOf(wanted.size, ready, isRemoved);
  const before = offloading.status?.conditions;
  const rules = rulesCondition("spec.reflection", offloading.spec.reflection, own, before);
  const told: NewCondition<OffloadingCondition>[] = [{ type: "Ready", ...verdict } as const, ...(rules ? [rules] : [])];
  const conditions = told.reduce<OffloadingCondition[]>(
    (all, each) => setCondition<OffloadingCondition>(all, { ...each, observedGeneration: generation }, now).conditions,
    before ?? [],
  );
  return { sites, conditions };
}

/** The status of one in a namespace that does not extend anywhere. */
export function keptStatus(offloading: Offloading, now: number): OffloadingStatus {
  const verdict: Verdict<ReadyReason> = {
    status: "False",
    reason: "NamespaceKept",
    message: "namespaces of the system and of agents stay at home: delete this Offloading",
  };
  const condition = { type: "Ready" as const, ...verdict, observedGeneration: offloading.metadata.generation ?? 0 };
  const { conditions } = setCondition(offloading.status?.conditions, condition, now);
  const { sites } = offloading.status ?? {};
  // Where twins may be is known until it is deleted, which removes them.
  return { ...(sites && { sites }), conditions: conditions as NonNullable<OffloadingStatus["conditions"]> };
}

function siteStatus(facts: TwinFacts, before: SiteStatus | undefined, generation: number, now: number): SiteStatus {
  // A twin that was given is remembered while its site cannot be asked.
  const twin = isUsable(facts) ? facts.name : facts.inForce ? before?.twin : undefined;
  const condition = { type: "Ready" as const, ...twinVerdict(facts, before), observedGeneration: generation };
  const { conditions } = setCondition(before?.conditions, condition, now);
  return {
    site: facts.site,
    ...(twin !== undefined && { twin }),
    conditions: conditions as NonNullable<SiteStatus["conditions"]>,
  };
}

interface Verdict<Reason> {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

function twinVerdict(facts: TwinFacts, before: SiteStatus | undefined): Verdict<TwinReason> {
  const { wanted, inForce, reachable, known, request, hasPods } = facts;
  if (!inForce)
    return { status: "False", reason: "ContractNotActive", message: "there is no contract in force with that site" };
  const isLeaving = !wanted && !hasPods;
  if (isLeaving) {
    const message = reachable ? "the twin is being removed" : "the twin is removed when the site answers again";
    return { status: "False", reason: "Removing", message };
  }
  if (!reachable || !known) {
    const was = before?.conditions?.[0];
    const wasUsable = was?.status === "True" || (was?.status === "Unknown" && was.reason === "SiteUnreachable");
    // What the site has is learnt in a moment: no reason to call a twin in use anything else until then.
    if (reachable && was?.status === "True") return usable(wanted);
    if (reachable && !wasUsable) return awaiting;
    const status = wasUsable ? "Unknown" : "False";
    return { status, reason: "SiteUnreachable", message: "the site does not answer" };
  }
  if (isUsable(facts)) return usable(wanted);
  if (request === undefined && facts.refusal !== undefined)
    return { status: "False", reason: "TwinRefused", message: facts.refusal.slice(0, 1024) };
  const told = request?.status?.conditions?.find(({ type }) => type === "Ready");
  if (told === undefined || told.status === "True") return awaiting;
  const message = typeof told.message === "string" ? told.message.slice(0, 1024) : "";
  return { status: "False", reason: refusals[told.reason] ?? "AwaitingTwin", message };
}

const awaiting: Verdict<TwinReason> = {
  status: "False",
  reason: "AwaitingTwin",
  message: "the provider is making it",
};

function usable(wanted: boolean): Verdict<TwinReason> {
  const message = wanted ? "pods can run there" : "no more pods go there; the twin goes with the last one";
  return { status: "True", reason: "TwinReady", message };
}

/** The words of a provider are taken only where they are known ones. */
const refusals: Partial<Record<string, TwinReason>> = {
  NameTaken: "NameTaken",
  NameRefused: "NameRefused",
  ContractNotActive: "ContractNotActive",
  Removing: "Removing",
};

function noneEligible(message: string): Verdict<ReadyReason> {
  return { status: "False", reason: "NoSiteEligible", message: message.slice(0, 1024) };
}

function verdictOf(sites: number, ready: number, removing: boolean): Verdict<ReadyReason> {
  if (removing) return { status: "False", reason: "Removing", message: "the twins are being removed" };
  if (ready === sites)
    return { status: "True", reason: "AllTwinsReady", message: `${ready} of ${sites} twins can be used` };
  const reason = ready === 0 ? "NoTwinReady" : "SomeTwinsNotReady";
  return { status: "False", reason, message: `${ready} of ${sites} twins can be used` };
}
