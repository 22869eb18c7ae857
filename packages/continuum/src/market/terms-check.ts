import type { ContractRequest, Terms } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { amountsOf, sameAmounts } from "./amounts.ts";
import { contractId } from "./contract-id.ts";
import { SKEW_MS } from "./contract-life.ts";
import { agreeable } from "./request-check.ts";

/** Shorter than this no provider's policy can be; longer no agreement makes sense. */
const SHORTEST_MS = 5_000;
const LONGEST_MS = 10 * 365 * 86_400_000;
const known = new Set([
  "id",
  "consumer",
  "provider",
  "resources",
  "properties",
  "notBefore",
  "notAfter",
  "enforcement",
  "supersedes",
]);
/** What a later version may have added, which an older one keeps, signs and does not heed. */
const MOST_UNKNOWN = 16;
const LONGEST_UNKNOWN = 4_096;
const enforcements: readonly string[] = ["None", "RequestsRequired", "LimitsEqualRequests"];
const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/;

/** Terms out of what a peer sent, as far as their shape goes; undefined where it is none. */
export function readTerms(value: unknown): Terms | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { resources, properties, supersedes, ...texts } = value as Record<string, unknown>;
  if (supersedes !== undefined && typeof supersedes !== "string") return undefined;
  if (properties !== undefined && (typeof properties !== "object" || properties === null)) return undefined;
  if (!["id", "consumer", "provider", "notBefore", "notAfter", "enforcement"].every((name) => isText(texts[name])))
    return undefined;
  try {
    agreeable(resources);
    return value as Terms;
  } catch {
    // Its amounts are none.
    return undefined;
  }
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.length <= 64;
}

export interface Asked {
  readonly consumer: SiteId;
  readonly provider: SiteId;
  readonly request: ContractRequest;
}

/** What is wrong with terms that a provider answers a request by; undefined where they are what was asked for. */
export function wrongWith(terms: Terms, { consumer, provider, request }: Asked, now: number): string | undefined {
  if (hasTooMuch(terms)) return "they say too much that this version does not know";
  if (terms.consumer !== consumer) return "they are for another consumer";
  if (terms.provider !== provider) return "they name another provider";
  if (terms.supersedes !== request.supersedes) return "they supersede another contract than was asked for";
  if (terms.id !== contractId(consumer, request.requestId, request.supersedes)) return "their id is not the request's";
  if (!sameAmounts(amountsOf(terms.resources), amountsOf(request.resources)))
    return "their amounts are not those asked for";
  if (!enforcements.includes(terms.enforcement)) return `they are enforced in an unknown way, ${terms.enforcement}`;
  return wrongLifetime(terms, now) ?? wrongProperties(terms.properties);
}

/** A later version may say more, as long as it is nothing that would burden whoever keeps it. */
function hasTooMuch(terms: Terms): boolean {
  const unknown = Object.entries(terms).filter(([field]) => !known.has(field));
  return (
    unknown.length > MOST_UNKNOWN ||
    unknown.some(([field]) => !/^[a-z][A-Za-z0-9]{0,62}$/.test(field)) ||
    JSON.stringify(unknown).length > LONGEST_UNKNOWN
  );
}

function wrongLifetime({ notBefore, notAfter }: Terms, now: number): string | undefined {
  if (!moment.test(notBefore) || !moment.test(notAfter)) return "their times are not in RFC 3339";
  const begins = Date.parse(notBefore);
  const ends = Date.parse(notAfter);
  if (!(ends - begins >= SHORTEST_MS && ends - begins <= LONGEST_MS)) return "their lifetime makes no sense";
  if (begins > now + SKEW_MS) return "they begin in the future: compare the clocks of both sites";
  return ends > now ? undefined : "they are over already: compare the clocks of both sites";
}

function wrongProperties(properties: Terms["properties"]): string | undefined {
  const entries = Object.entries(properties ?? {});
  const isLabel = ([key, value]: [string, unknown]) => key.length <= 317 && isText(value);
  return entries.length <= 64 && entries.every(isLabel) ? undefined : "their properties are no labels";
}
