import { AddressPlan, Link } from "@fjord/api";
import { type Cache, sameContent } from "@fjord/kube";
import type { AddressBlock, Addresses, AddressFamily } from "../addresses.ts";
import type { Home } from "../home.ts";
import type { SiteId } from "../site-identity.ts";
import { blocksThere } from "./block-names.ts";
import { onSilence } from "./link-silence.ts";
import { isSaidSilent } from "./link-status.ts";
import { calledByOther, calledHere, calledThere, meantThere } from "./translate.ts";

/** Whether an address that no plan names can be one of a site's pods: what is this site's own, or another peer's, leads elsewhere. */
export type MayHave = (site: SiteId, address: string) => boolean;

/** Addresses by the plans and links that the own API holds. */
export class KnownAddresses implements Addresses {
  readonly #plans: Cache<AddressPlan>;
  readonly #links: Cache<Link>;
  readonly #mayHave: MayHave;

  constructor({ caches }: Pick<Home, "caches">, mayHave: MayHave) {
    this.#mayHave = mayHave;
    this.#plans = caches.open(AddressPlan).cache;
    this.#links = caches.open(Link).cache;
  }

  calledHere(site: SiteId, address: string): string | undefined {
    const plan = this.#plans.get({ name: site })?.spec;
    if (plan !== undefined) return calledHere(plan, address);
    return this.#mayHave(site, address) ? address : undefined;
  }

  calledThere(site: SiteId, address: string, at?: SiteId): string | undefined {
    const plan = this.#plans.get({ name: site })?.spec;
    if (plan === undefined) return address;
    const planOf = (other: SiteId) => this.#plans.get({ name: other })?.spec;
    if (at !== undefined) return calledByOther(plan, at, planOf(at), address);
    // By nobody's node, it may be one of that very site: whoever has written it down knew what it is called here.
    const own = calledThere(plan, address) ?? meantThere(plan, address);
    if (own !== undefined) return own;
    return plan.others?.map((each) => calledByOther(plan, each.site, planOf(each.site), address)).find((name) => name);
  }

  blocksThere(site: SiteId, block: AddressBlock): readonly AddressBlock[] {
    const plan = this.#plans.get({ name: site })?.spec;
    return plan === undefined ? [block] : blocksThere(plan, block);
  }

  familiesThere(site: SiteId): readonly AddressFamily[] | undefined {
    const ranges = this.#plans.get({ name: site })?.spec.peer.map(({ range }) => range);
    if (ranges === undefined || ranges.length === 0) return undefined;
    return [...new Set(ranges.map((range) => (range.includes(":") ? "IPv6" : "IPv4")))].sort();
  }

  isSilent(site: SiteId): boolean {
    return isSaidSilent(this.#links.get({ name: site }));
  }

  onChange(listener: (site: SiteId) => void): () => void {
    const tell = ({ spec }: AddressPlan) => {
      listener(spec.site);
      for (const { site } of spec.others ?? []) listener(site);
    };
    const release = [
      this.#plans.addHandler({
        onAdd: tell,
        onUpdate: (before, now) => {
          if (!sameContent(before.spec, now.spec)) tell(now);
        },
        onDelete: tell,
      }),
      onSilence(this.#links, listener),
    ];
    return () => {
      for (const each of release) each();
    };
  }
}
