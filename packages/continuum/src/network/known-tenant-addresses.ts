import { AddressPlan, CONSUMER_LABEL, type Site } from "@fjord/api";
import { type Cache, type Node, Pod } from "@fjord/kube";
import type { Home } from "../home.ts";
import type { SiteId } from "../site-identity.ts";
import type { TenantAddresses } from "../tenant-addresses.ts";
import { calledRanges } from "./address-plan.ts";
import { hasOwnAddress, podAddresses } from "./groups.ts";
import { formatRange, type IpRange } from "./ip-range.ts";
import { type AddressOwners, leadingProblem } from "./leading-address.ts";
import { RangeSet } from "./range-set.ts";
import { parseAddress, parseCidrs } from "./ranges.ts";

export interface KnownTenantAddressesOptions {
  readonly home: Pick<Home, "caches" | "clock">;
  readonly own: {
    object(): Site | undefined;
    nodes(): readonly Node[];
    /** Whether all of them are known. */
    knowsNodes(): boolean;
    onChange(listener: () => void): () => void;
  };
  /** Of the own Services, and where the API is. */
  readonly serviceRanges: readonly string[];
  /** Whether a consumer has said, since the agent started, that it has a link with this site. */
  readonly isLinked: (consumer: SiteId) => boolean;
}

/** A site may have thousands of nodes, and each changes by itself: they are put together once for many writes. */
const FRESH_MS = 5_000;

/** By the plans, nodes and guests that the agent knows anyway: nothing is asked of the API. */
export class KnownTenantAddresses implements TenantAddresses {
  readonly #options: KnownTenantAddressesOptions;
  readonly #plans: Cache<AddressPlan>;
  readonly #guests: Cache<Pod>;
  readonly #called = new WeakMap<AddressPlan, readonly IpRange[]>();
  #own: { readonly at: number; readonly ranges: RangeSet } | undefined;
  #hasChanged = false;
  /** Until a plan changes. */
  #peers: RangeSet | undefined;

  constructor(options: KnownTenantAddressesOptions) {
    this.#options = options;
    this.#plans = options.home.caches.open(AddressPlan).cache;
    this.#guests = options.home.caches.open(Pod, { labelSelector: CONSUMER_LABEL }).cache;
    options.own.onChange(() => {
      this.#hasChanged = true;
    });
    const changed = () => {
      this.#peers = undefined;
    };
    this.#plans.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  }

  isKnown(): boolean {
    return this.#plans.hasSynced && this.#guests.hasSynced && this.#options.own.knowsNodes();
  }

  endpointProblem(consumer: SiteId, addresses: readonly string[]): string | undefined {
    return this.#problem(consumer, addresses, this.#ownersFor(consumer, this.#options.isLinked(consumer)));
  }

  outsideProblem(consumer: SiteId, address: string): string | undefined {
    return this.#problem(consumer, [address], this.#ownersFor(consumer, false));
  }

  #problem(consumer: SiteId, addresses: readonly string[], owners: AddressOwners): string | undefined {
    let guests: ReadonlySet<string> | undefined;
    for (const text of addresses) {
      const problem = leadingProblem(text, owners);
      if (problem === undefined) continue;
      // Few write down addresses of guests: these are looked for last.
      guests ??= this.#guestsOf(consumer);
      const address = parseAddress(text);
      if (address === undefined || !guests.has(formatRange(address))) return `${text.slice(0, 64)} ${problem}`;
    }
    return undefined;
  }

  /** Most addresses are what the consumer's pods are called: what else there is to know is put together where one is not. */
  #ownersFor(consumer: SiteId, isLinked: boolean): AddressOwners {
    const plans = this.#plans.list();
    const isFor = ({ spec }: AddressPlan) => spec.site === consumer || spec.introducedBy?.includes(consumer) === true;
    const rangesOf = (some: readonly AddressPlan[]) => some.flatMap((plan) => this.#calledBy(plan));
    const { object } = this.#options.own;
    return {
      called: rangesOf(plans.filter(isFor)),
      isLinked: isLinked && rangesOf(plans.filter(({ spec }) => spec.site === consumer)).length > 0,
      own: { has: (address) => this.#ownRanges().has(address) },
      peers: { has: (address) => this.#peerRanges(plans).has(address) },
      pools: () => parseCidrs(object()?.spec.network?.names ?? []),
    };
  }

  #peerRanges(plans: readonly AddressPlan[]): RangeSet {
    this.#peers ??= new RangeSet(plans.flatMap((plan) => this.#calledBy(plan)));
    return this.#peers;
  }

  /** A plan that has changed is another object. */
  #calledBy(plan: AddressPlan): readonly IpRange[] {
    const known = this.#called.get(plan) ?? calledRanges(plan.spec);
    this.#called.set(plan, known);
    return known;
  }

  #guestsOf(consumer: SiteId): ReadonlySet<string> {
    const pods = this.#guests.list().filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === consumer);
    return new Set(pods.filter(hasOwnAddress).flatMap(podAddresses));
  }

  #ownRanges(): RangeSet {
    const now = this.#options.home.clock.now();
    if (this.#own !== undefined && (!this.#hasChanged || now - this.#own.at < FRESH_MS)) return this.#own.ranges;
    const { own, serviceRanges } = this.#options;
    const ranges = new RangeSet(ownRanges(own.object(), own.nodes(), serviceRanges));
    this.#own = { at: now, ranges };
    this.#hasChanged = false;
    return ranges;
  }
}

/** What is a site's own: of nodes only the addresses themselves, as pods of a peer may be beside them where networks reach each other. */
export function ownRanges(
  site: Site | undefined,
  nodes: readonly Node[],
  serviceRanges: readonly string[],
): readonly IpRange[] {
  const { podRanges, reserved = [] } = site?.spec.network ?? {};
  const pods = podRanges ?? nodes.flatMap(({ spec }) => spec?.podCIDRs ?? []);
  const machines = nodes.flatMap(({ status }) => status?.addresses ?? []);
  return [
    ...parseCidrs([...pods, ...serviceRanges, ...reserved]),
    ...machines.flatMap(({ address }) => parseAddress(address) ?? []),
  ];
}
