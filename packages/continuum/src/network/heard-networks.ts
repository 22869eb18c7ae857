import { PeerRefused } from "../peer-refused-error.ts";
import type { PeerRoute } from "../peer-routes.ts";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { checkNetworkFacts } from "./network-facts.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** What consumers have said of their networks since the agent started. They hear by reports what was heard, and say it again. */
export class HeardNetworks {
  readonly #heard = new Map<SiteId, { readonly facts?: NetworkFacts }>();
  readonly #listeners = new Set<(site: SiteId) => void>();

  /** `PUT /fjord/v1/network`: a consumer cannot always be asked, so it says by itself. Repeating it changes nothing. */
  readonly route: PeerRoute = {
    method: "PUT",
    path: "/network",
    access: "consumer",
    handle: async ({ caller, body }) => {
      const { network } = (typeof body === "object" && body !== null ? body : {}) as { network?: unknown };
      const facts = checkNetworkFacts(network);
      if (facts === undefined && network !== null)
        throw new PeerRefused({ code: "Malformed", message: "network is missing or is none that can be used" }, 400);
      this.#heard.set(caller.id, facts === undefined ? {} : { facts });
      for (const listener of this.#listeners) listener(caller.id);
      return {};
    },
  };

  /** Undefined where it has said nothing; without facts where it wants no link any more. */
  get(site: SiteId): { readonly facts?: NetworkFacts } | undefined {
    return this.#heard.get(site);
  }

  /** What the site is told that was heard of it. */
  digestOf(site: SiteId): string | undefined {
    const facts = this.#heard.get(site)?.facts;
    return facts && digestOf(facts);
  }

  onChange(listener: (site: SiteId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** By which two know that they speak of the same facts. */
export function digestOf(facts: NetworkFacts): string {
  const text = JSON.stringify(checkNetworkFacts(facts) ?? null);
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}
