import { type Clock, systemClock, TokenBucket } from "@fjord/base";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { PeerRoute } from "../../peer-routes.ts";
import type { Card, IntroductionAnswer } from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";
import { checkIntroduction, type Introduction, introductionToken } from "./introduction.ts";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { isDeepStrictEqual } = process.getBuiltinModule("node:util");

export interface HeardIntroductionsOptions {
  /** The own id. */
  readonly id: SiteId;
  /** Whether the owner takes part. */
  accepts(): boolean;
  /** What the own site says to one that the consumer has introduced, where it has something to say. */
  cardFor(site: SiteId, consumer: SiteId): Card | undefined;
  /** @default the system's */
  readonly clock?: Pick<Clock, "now">;
}

const MOST_SITES = 128;
/** Of pods of one consumer at all other sites together: a million of them, as many as each introduction may have, would take 40 MB. */
const MOST_ADDRESSES = 65_536;
/** How often a consumer may say something else: a plan and a link are written for each time. */
const NEWS = { burst: 200, perSecond: 10 } as const;

/** What consumers have said of other providers since the agent started. They hear by reports what was heard, and say it again. */
export class HeardIntroductions {
  readonly #options: HeardIntroductionsOptions;
  /** By consumer, then by the site that was introduced. */
  readonly #heard = new Map<SiteId, Map<SiteId, Introduction>>();
  readonly #listeners = new Set<(site: SiteId) => void>();
  readonly #news = new Map<SiteId, TokenBucket>();
  /** What stands for an introduction, with the signature of the answer: reports say so each second. */
  readonly #tokens = new WeakMap<Introduction, { readonly answer: string | undefined; readonly token: string }>();

  constructor(options: HeardIntroductionsOptions) {
    this.#options = options;
  }

  /** `PUT /fjord/v1/introductions/SITE`. Repeating it changes nothing. */
  readonly route: PeerRoute = {
    method: "PUT",
    path: "/introductions/:site",
    access: "consumer",
    handle: async ({ caller, params: { site = "" }, body }): Promise<IntroductionAnswer> => {
      const { id, accepts, cardFor } = this.#options;
      if (!accepts())
        throw new PeerRefused({ code: "IntroductionsRefused", message: "the owner wants no links with strangers" });
      const introduction = checkIntroduction(body, site, id);
      if (introduction === undefined)
        throw new PeerRefused({ code: "Malformed", message: "it is no introduction that can be used" }, 400);
      const sites = this.#heard.get(caller.id) ?? new Map<SiteId, Introduction>();
      if (!sites.has(site) && sites.size >= MOST_SITES)
        throw new PeerRefused({ code: "TooMany", message: `${MOST_SITES} sites are introduced already` }, 429);
      const before = sites.get(site);
      if (addressCount(sites.values()) - addressCount([before]) + addressCount([introduction]) > MOST_ADDRESSES)
        throw new PeerRefused({ code: "TooMany", message: `you have told of ${MOST_ADDRESSES} pods already` }, 429);
      if (before === undefined || !isDeepStrictEqual(before, introduction)) {
        if (!this.#newsOf(caller.id).tryTake())
          throw new PeerRefused({ code: "TooMany", message: "they change too often: say it again later" }, 429);
        this.#heard.set(caller.id, sites.set(site, introduction));
        for (const listener of this.#listeners) listener(site);
      }
      const card = cardFor(site, caller.id);
      return card === undefined ? {} : { card };
    },
  };

  #newsOf(consumer: SiteId): TokenBucket {
    const { clock = systemClock } = this.#options;
    const news = this.#news.get(consumer) ?? new TokenBucket({ ...NEWS, clock });
    this.#news.set(consumer, news);
    return news;
  }

  /** What consumers have said of a site, by their ids. */
  of(site: SiteId): ReadonlyMap<SiteId, Introduction> {
    const found = [...this.#heard].flatMap(([consumer, sites]) => {
      const said = sites.get(site);
      return said === undefined ? [] : [[consumer, said] as const];
    });
    return new Map(found);
  }

  /** Forgets what a consumer has said of sites that it no longer introduces. */
  keepOnly(consumer: SiteId, sites: readonly SiteId[]): void {
    const heard = this.#heard.get(consumer);
    for (const site of heard?.keys() ?? []) if (!sites.includes(site)) heard?.delete(site);
    if (heard?.size === 0) this.#heard.delete(consumer);
  }

  /** For the report to a consumer. */
  tokensFor(consumer: SiteId): Record<SiteId, string> | undefined {
    const heard = this.#heard.get(consumer);
    if (heard === undefined || !this.#options.accepts()) return undefined;
    const tokens = [...heard].map(([site, said]) => [site, this.#token(said, this.#options.cardFor(site, consumer))]);
    return Object.fromEntries(tokens) as Record<SiteId, string>;
  }

  #token(said: Introduction, card: Card | undefined): string {
    const answer = card?.signature;
    const known = this.#tokens.get(said);
    if (known !== undefined && known.answer === answer) return known.token;
    const token = introductionToken(said, card);
    this.#tokens.set(said, { answer, token });
    return token;
  }

  onChange(listener: (site: SiteId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function addressCount(introductions: Iterable<Introduction | undefined>): number {
  let count = 0;
  for (const each of introductions) for (const { addresses } of each?.namespaces ?? []) count += addresses.length;
  return count;
}
