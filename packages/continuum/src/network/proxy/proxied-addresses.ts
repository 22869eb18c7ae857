import { AddressPlan } from "@fjord/api";
import { type Cache, sameContent } from "@fjord/kube";
import type { Addresses } from "../../addresses.ts";
import type { Home } from "../../home.ts";
import type { SiteId } from "../../site-identity.ts";
import type { MayHave } from "../known-addresses.ts";
import { calledHere, calledThere } from "../translate.ts";

/**
 * Addresses at a site whose pods are processes: pods of other sites are known by their stand-ins alone. An address on loopback that has
 * none means this machine, and is nobody's name.
 */
export class ProxiedAddresses implements Addresses {
  readonly #plans: Cache<AddressPlan>;
  readonly #mayHave: MayHave;

  constructor({ caches }: Pick<Home, "caches">, mayHave: MayHave) {
    this.#mayHave = mayHave;
    this.#plans = caches.open(AddressPlan).cache;
  }

  calledHere(site: SiteId, address: string): string | undefined {
    if (!isOnLoopback(address)) return this.#mayHave(site, address) ? address : undefined;
    const plan = this.#plans.get({ name: site })?.spec;
    return plan && calledHere(plan, address);
  }

  calledThere(site: SiteId, address: string): string | undefined {
    if (!isOnLoopback(address)) return address;
    const plan = this.#plans.get({ name: site })?.spec;
    return plan && calledThere(plan, address);
  }

  /** It has a stand-in here, and is never used as it is. */
  allowsLoopback(site: SiteId, address: string): boolean {
    return isOnLoopback(address) && this.calledHere(site, address) !== undefined;
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

export function isOnLoopback(address: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(address);
}
