import type { AddressPlan, Link } from "@fjord/api";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { newestKey } from "./key-proofs.ts";
import type { LinkKey } from "./link-key.ts";
import type { OwnObjects } from "./own-objects.ts";
import type { PeerWord } from "./peer-word.ts";

export interface KeyHoldersOptions {
  readonly links: Pick<OwnObjects<Link>, "get" | "names">;
  readonly plans: Pick<OwnObjects<AddressPlan>, "get">;
  readonly key: Pick<LinkKey, "publicKey" | "proof">;
  /** The own id. */
  readonly id: SiteId;
  wordOf(site: SiteId): PeerWord;
}

type Keys = Pick<NetworkFacts, "publicKey" | "nextKey">;

/**
 * Whose keys of WireGuard are whose. A key is no secret, and any peer may name another's: of two that do, WireGuard could know one, and the other would be
 * cut off. Whoever proves to have its private half has it; where nobody does, who has named it first keeps it, and somebody whom only others know gives way to one that this site has met.
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
    const isProven = this.#proves(site, publicKey);
    return all.find(({ spec }) => {
      if (spec.site === site || (isMet && plans.get(spec.site)?.spec.scope === "Guests")) return false;
      if (!hasKey(spec, publicKey)) return false;
      return !isProven || this.#proves(spec.site, publicKey);
    })?.spec.site;
  }

  /** Sites beside the one of a Link that have one of its keys too. */
  sharing({ spec }: Link): SiteId[] {
    const { links } = this.#options;
    const keys = [spec.publicKey, spec.nextKey].filter((each) => each !== undefined);
    return links.names().filter((name) => {
      const other = links.get(name)?.spec;
      return other !== undefined && other.site !== spec.site && keys.some((key) => hasKey(other, key));
    });
  }

  /** Whether a site has shown, to the newest own key, that it has the private half of this one. */
  #proves(site: SiteId, publicKey: string): boolean {
    const { key, id, wordOf } = this.#options;
    const word = wordOf(site);
    const facts = word === "unknown" ? undefined : word.facts;
    if (facts?.keyProof === undefined || newestKey(facts) !== publicKey) return false;
    return facts.keyProof === key.proof(publicKey, site, id);
  }

  /** What a site says, without a next key that is another's. */
  withoutOthers<T extends Keys>(site: SiteId, facts: T, isMet: boolean): T {
    const { nextKey, ...rest } = facts;
    if (nextKey === undefined || this.other(site, { publicKey: nextKey }, isMet) === undefined) return facts;
    return rest as T;
  }
}

function hasKey({ publicKey, nextKey }: Keys, key: string): boolean {
  return publicKey === key || nextKey === key;
}
