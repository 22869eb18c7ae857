import type { ConditionOf, Offloading, TwinNamespace } from "@fjord/api";
import { setCondition } from "@fjord/kube";
import type { SiteId } from "../../identity/site-identity.ts";

type SiteStatus = NonNullable<NonNullable<Offloading["status"]>["sites"]>[number];
type TwinReason = NonNullable<SiteStatus["conditions"]>[number]["reason"];
type Status = NonNullable<Offloading["status"]>;

/** What is known of one site that a namespace extends to. */
export interface TwinView {
  readonly site: SiteId;
  readonly reachable: boolean;
  /** Whether the namespace is to have a twin there. */
  readonly wanted: boolean;
  readonly request: TwinNamespace | undefined;
}

/** The status that an Offloading is to have. Pure; times of conditions are kept where nothing has changed. */
export function offloadingStatus(offloading: Offloading, views: readonly TwinView[], now: number): Status {
  const { generation = 0, deletionTimestamp } = offloading.metadata;
  const before = new Map((offloading.status?.sites ?? []).map((site) => [site.site, site]));
  const sites = views.map((view) => siteStatus(view, before.get(view.site), generation, now));
  const ready = sites.filter(({ conditions }) => conditions?.[0]?.status === "True").length;
  const verdict = verdictOf(sites.length, ready, deletionTimestamp !== undefined);
  const { conditions } = setCondition(
    offloading.status?.conditions,
    { type: "Ready", ...verdict, observedGeneration: generation },
    now,
  );
  return { sites, conditions: conditions as NonNullable<Status["conditions"]> };
}

function siteStatus(view: TwinView, before: SiteStatus | undefined, generation: number, now: number): SiteStatus {
  const twin = view.request?.status?.namespace ?? before?.twin;
  const condition = { type: "Ready" as const, ...twinVerdict(view, before), observedGeneration: generation };
  const { conditions } = setCondition(before?.conditions, condition, now);
  return {
    site: view.site,
    ...(twin !== undefined && { twin }),
    conditions: conditions as NonNullable<SiteStatus["conditions"]>,
  };
}

interface Verdict<Reason> {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

function twinVerdict({ wanted, reachable, request }: TwinView, before: SiteStatus | undefined): Verdict<TwinReason> {
  if (!wanted) return { status: "False", reason: "Removing", message: "the namespace no longer extends to this site" };
  if (!reachable) {
    const was = before?.conditions?.[0];
    const status = was?.status === "True" || was?.reason === "SiteUnreachable" ? "Unknown" : "False";
    return { status, reason: "SiteUnreachable", message: "the site does not answer" };
  }
  const told = request?.status?.conditions?.find(({ type }) => type === "Ready");
  if (told === undefined) return { status: "False", reason: "AwaitingTwin", message: "the provider is making it" };
  if (told.status === "True") return { status: "True", reason: "TwinReady", message: "pods can run there" };
  return { status: "False", reason: refusals[told.reason] ?? "AwaitingTwin", message: told.message.slice(0, 1024) };
}

/** The words of a provider are taken only where they are known ones. */
const refusals: Partial<Record<string, TwinReason>> = {
  NameTaken: "NameTaken",
  NameRefused: "NameRefused",
  ContractNotActive: "ContractNotActive",
  Removing: "Removing",
};

function verdictOf(sites: number, ready: number, removing: boolean): Verdict<ConditionOf<typeof Offloading>["reason"]> {
  if (removing) return { status: "False", reason: "Removing", message: "the twins are being removed" };
  if (sites === 0) return { status: "False", reason: "NoSiteEligible", message: "no virtual node matches spec.sites" };
  if (ready === sites)
    return { status: "True", reason: "AllTwinsReady", message: `${ready} of ${sites} twins can be used` };
  const reason = ready === 0 ? "NoTwinReady" : "SomeTwinsNotReady";
  return { status: "False", reason, message: `${ready} of ${sites} twins can be used` };
}
