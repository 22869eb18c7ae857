import { type AddressPlan, CONSUMER_LABEL, type Link } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { realRanges } from "../address-plan.ts";
import { localAddresses } from "../groups.ts";
import type { IpRange } from "../ip-range.ts";
import type { Group } from "../network-state.ts";
import type { PeerWord } from "../peer-word.ts";
import { parseCidrs, sizeOf } from "../ranges.ts";
import { calledHere } from "../translate.ts";
import type { CardContent } from "./card.ts";
import type { Introduction } from "./introduction.ts";

type PlanSpec = AddressPlan["spec"];

/** A consumer that has introduced another provider, with what it has said of it since the agent started. */
export interface Introducer {
  readonly consumer: SiteId;
  readonly said?: Introduction;
}

export interface IntroducerSources {
  /** The other provider. */
  readonly site: SiteId;
  /** Consumers that have said something of it. */
  readonly heard: ReadonlyMap<SiteId, Introduction>;
  readonly before?: PlanSpec;
  hasContract(consumer: SiteId): boolean;
  wordOf(consumer: SiteId): PeerWord;
}

/** Who introduces a site to this one now. What a consumer has said holds while it is silent, and no longer than its contracts. */
export function introducersOf({ site, heard, before, hasContract, wordOf }: IntroducerSources): Introducer[] {
  const consumers = new Set([...heard.keys(), ...(before?.introducedBy ?? [])]);
  return [...consumers]
    .filter((consumer) => {
      if (consumer === site || !hasContract(consumer)) return false;
      const word = wordOf(consumer);
      if (word === "unknown") return before?.introducedBy?.includes(consumer) === true;
      return word.facts?.introduces?.includes(site) === true;
    })
    .sort()
    .slice(0, MOST_INTRODUCERS)
    .map((consumer) => {
      const said = heard.get(consumer);
      return { consumer, ...(said && { said }) };
    });
}

const MOST_INTRODUCERS = 64;

/** What a site says of itself by its newest card, whoever has brought it. */
export function newestCard(introducers: readonly Introducer[]): CardContent | undefined {
  const cards = introducers.flatMap(({ said }) => said?.content ?? []);
  return cards.reduce<CardContent | undefined>(
    (best, each) => (best === undefined || each.at > best.at ? each : best),
    undefined,
  );
}

/**
 * At a provider: each introducing consumer's guests may talk with those pods at the other provider that the consumer says are its own. Neither end
 * takes the other tenant's word: a packet between two tenants would need both consumers to claim it.
 */
export function introducedGroups(
  plan: PlanSpec,
  introducers: readonly Introducer[],
  guests: readonly Pod[],
  before: Link["spec"]["groups"] = [],
): Group[] {
  return introducers
    .flatMap(({ consumer, said }) => {
      const own = guests.filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === consumer);
      const byTwin = Map.groupBy(own, ({ metadata }) => metadata.namespace ?? "");
      return [...byTwin].map(([twin, pods]) => {
        const remote =
          said === undefined
            ? (before.find(({ name }) => name === twin)?.remote ?? [])
            : said.namespaces
                .filter((each) => each.twin === twin)
                .flatMap(({ addresses }) => addresses.flatMap((address) => calledHere(plan, address) ?? []));
        return { name: twin, local: localAddresses(plan, pods), remote: [...new Set(remote)].sort() };
      });
    })
    .filter(({ local, remote }) => local.length > 0 && remote.length > 0)
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** How much of the pools the sites that one consumer has introduced may have for names. */
const SHARE = 8n;

/** Whether names for a site's ranges leave enough for others: a consumer may introduce sites that it has made up. */
export function leavesNames(
  ranges: readonly string[],
  /** Of other sites that the same consumer has introduced. */
  others: readonly Pick<PlanSpec, "peer">[],
  pools: readonly IpRange[],
): boolean {
  const used = [...parseCidrs(ranges), ...others.flatMap(realRanges)];
  return ([4, 6] as const).every((family) => {
    const sum = (all: readonly IpRange[]) =>
      all.filter((range) => range.family === family).reduce((total, range) => total + sizeOf(range), 0n);
    return sum(used) * SHARE <= sum(pools);
  });
}
