import type { AddressPlan, Link } from "@fjord/api";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import type { LinkKey } from "./link-key.ts";
import type { OwnObjects } from "./own-objects.ts";

export interface KeyHoldersOptions {
  readonly links: Pick<OwnObjects<Link>, "get" | "names">;
  readonly plans: Pick<OwnObjects<AddressPlan>, "get">;
  readonly key: Pick<LinkKey, "publicKey">;
}

type Keys = Pick<NetworkFacts, "publicKey" | "nextKey">;

/**
 * Whose keys of WireGuard are whose. A key is no secret, and any peer may name another's: of two that do, WireGuard could know one, and the other would be
 * cut off. Whoever has named it first keeps it; somebody whom only others know gives way to one that this site has met.
 */
export class KeyHolders {
  readonly #options: KeyHoldersOptions;

  constructor(options: KeyHoldersOptions) {
    this.#options = options;
  }

  /** Who else has the key that a site names; `this site` where it is one of its own. Undefined where nobody has. */
  other(site: SiteId, { publicKey }: Keys, isMet: boolean): SiteId | "this site" | undefined {
    const { links, plans, key } = this.#options;
    const all = links.names().flatMap((name) => links.get(name) ?? []);
    const own = [key.publicKey, ...all.flatMap(({ status }) => [status?.ownKey, status?.nextKey])];
    if (own.includes(publicKey)) return "this site";
    return all.find(({ spec }) => {
      if (spec.site === site || (isMet && plans.get(spec.site)?.spec.scope === "Guests")) return false;
      return spec.publicKey === publicKey || spec.nextKey === publicKey;
    })?.spec.site;
  }

  /** What a site says, without a next key that is another's. */
  withoutOthers<T extends Keys>(site: SiteId, facts: T, isMet: boolean): T {
    const { nextKey, ...rest } = facts;
    if (nextKey === undefined || this.other(site, { publicKey: nextKey }, isMet) === undefined) return facts;
    return rest as T;
  }
}
