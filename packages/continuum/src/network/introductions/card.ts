import { siteIdOf, verifySignature } from "../../identity/index.ts";
import type { Card, NetworkFacts } from "../../protocol.ts";
import type { SiteId, SiteIdentity } from "../../site-identity.ts";
import { checkNetworkFacts } from "../network-facts.ts";

const LONGEST_TEXT = 16 * 1024;
/** So that no signature of something else is one of a card. */
const PURPOSE = "fjord network card\n";

/** What a card says. */
export interface CardContent {
  /** When it was written, in milliseconds since the epoch: of two the later one holds. */
  readonly at: number;
  readonly facts: NetworkFacts;
}

/** What the own site says to another one of its network, for others to carry. */
export function writeCard(identity: SiteIdentity, to: SiteId, { at, facts }: CardContent): Card {
  const text = JSON.stringify({ to, at, network: facts });
  return { publicKey: identity.publicKey, text, signature: identity.sign(bytesOf(text)) };
}

/** A card that one site has signed for another; undefined where it is none, whoever has brought it. */
export function readCard(value: unknown, from: SiteId, to: SiteId): { card: Card; content: CardContent } | undefined {
  const card = cardOf(value);
  if (card === undefined) return undefined;
  const { publicKey, text, signature } = card;
  if (siteIdOf(Buffer.from(publicKey, "base64")) !== from) return undefined;
  if (!verifySignature(publicKey, bytesOf(text), signature)) return undefined;
  const said = objectIn(text);
  const facts = checkNetworkFacts(said?.network);
  const { at } = said ?? {};
  if (said?.to !== to || facts === undefined || typeof at !== "number" || !Number.isSafeInteger(at)) return undefined;
  return { card, content: { at, facts: ofTheLinkAlone(facts) } };
}

/** What is between other sites, or needs agents that know each other, is not for a stranger to say. */
export function ofTheLinkAlone(facts: NetworkFacts): NetworkFacts {
  const { publicKey, nextKey, endpoints, lanes, ranges, names, fallback } = facts;
  const keys = { publicKey, ...(nextKey !== undefined && { nextKey }) };
  return { ...keys, endpoints, ...(lanes && { lanes }), ranges, names, ...(fallback && { fallback }) };
}

function cardOf(value: unknown): Card | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { publicKey, text, signature } = value as Record<string, unknown>;
  if (typeof publicKey !== "string" || typeof text !== "string" || typeof signature !== "string") return undefined;
  return text.length > LONGEST_TEXT ? undefined : { publicKey, text, signature };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(`${PURPOSE}${text}`, "utf8");
}
