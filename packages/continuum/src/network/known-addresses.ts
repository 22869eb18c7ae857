import { AddressPlan } from "@fjord/api";
import { type Cache, sameContent } from "@fjord/kube";
import type { Addresses } from "../addresses.ts";
import type { Home } from "../home.ts";
import type { SiteId } from "../site-identity.ts";
import { calledHere, calledThere } from "./translate.ts";

/** Addresses by the plans that the own API holds. */
export class KnownAddresses implements Addresses {
  readonly #plans: Cache<AddressPlan>;

  constructor({ caches }: Pick<Home, "caches">) {
    this.#plans = caches.open(AddressPlan).cache;
  }

  calledHere(site: SiteId, address: string): string | undefined {
    const plan = this.#plans.get({ name: site })?.spec;
    return plan === undefined ? address : calledHere(plan, address);
  }

  calledThere(site: SiteId, address: string): string | undefined {
    const plan = this.#plans.get({ name: site })?.spec;
    return plan === undefined ? address : calledThere(plan, address);
  }

  onChange(listener: (site: SiteId) => void): () => void {
    const tell = ({ spec }: AddressPlan) => listener(spec.site);
    return this.#plans.addHandler({
      onAdd: tell,
      onUpdate: (before, now) => {
        if (!sameContent(before.spec, now.spec)) tell(now);
      },
      onDelete: tell,
    });
  }
}
