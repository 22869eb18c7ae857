import { type Clock, systemClock, TokenBucket } from "@fjord/base";
import { PeerRefused } from "../peer-refused-error.ts";
import type { PeerRoute } from "../peer-routes.ts";
import type { NetworkFacts } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { checkNetworkFacts } from "./network-facts.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** How often a consumer may say something else: plans and links are written for each time, and gateways bring about what they say. */
const NEWS = { burst: 30, perSecond: 1 } as const;

/** What consumers have said of their networks since the agent started. They hear by reports what was heard, and say it again. */
export class HeardNetworks {
  readonly #heard = new Map<SiteId, { readonly facts?: NetworkFacts }>();
  readonly #listeners = new Set<(site: SiteId) => void>();
  readonly #news = new Map<SiteId, TokenBucket>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now"> = systemClock) {
    this.#clock = clock;
  }

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
      const before = this.#heard.get(caller.id);
      if (before !== undefined && JSON.stringify(before.facts) === JSON.stringify(facts)) return {};
      if (!this.#newsOf(caller.id).tryTake())
        throw new PeerRefused({ code: "TooMany", message: "your network changes too often: say it again later" }, 429);
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

  #newsOf(site: SiteId): TokenBucket {
    const news = this.#news.get(site) ?? new TokenBucket({ ...NEWS, clock: this.#clock });
    this.#news.set(site, news);
    return news;
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
