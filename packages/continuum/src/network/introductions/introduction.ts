import type { AddressPlan } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import type { Card, IntroducedNamespace, IntroductionWord } from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";
import { hasOwnAddress, podAddresses } from "../groups.ts";
import { formatRange } from "../ip-range.ts";
import { parseAddress } from "../ranges.ts";
import { meantThere } from "../translate.ts";
import { type CardContent, readCard } from "./card.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** Of what one provider is told of another, so that a message stays within what agents take. */
const MOST_NAMESPACES = 256;
const MOST_ADDRESSES = 8_192;
const TWIN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** An introduction that was checked. */
export interface Introduction {
  readonly card?: Card;
  /** What the card says. */
  readonly content?: CardContent;
  readonly namespaces: readonly IntroducedNamespace[];
}

/** What a consumer says to `to` of `from`; undefined where it is none that can be used. */
export function checkIntroduction(value: unknown, from: SiteId, to: SiteId): Introduction | undefined {
  if (typeof value !== "object" || value === null || from === to) return undefined;
  const { card, namespaces } = value as Record<string, unknown>;
  const read = card === undefined ? undefined : readCard(card, from, to);
  if (card !== undefined && read === undefined) return undefined;
  if (!Array.isArray(namespaces) || namespaces.length > MOST_NAMESPACES) return undefined;
  const checked = namespaces.flatMap((each) => namespaceOf(each) ?? []);
  const addresses = checked.reduce((sum, each) => sum + each.addresses.length, 0);
  if (checked.length !== namespaces.length || addresses > MOST_ADDRESSES) return undefined;
  return { ...read, namespaces: checked };
}

function namespaceOf(value: unknown): IntroducedNamespace | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { twin, addresses } = value as Record<string, unknown>;
  if (typeof twin !== "string" || !TWIN.test(twin) || !Array.isArray(addresses)) return undefined;
  if (addresses.length > MOST_ADDRESSES) return undefined;
  const checked = addresses.flatMap((each) => {
    const address = typeof each === "string" && each.length <= 64 ? parseAddress(each) : undefined;
    return address === undefined ? [] : [formatRange(address)];
  });
  return checked.length === addresses.length ? { twin, addresses: checked } : undefined;
}

/** By which two know that they speak of the same word, and of the same answer to it. */
export function introductionToken({ card, namespaces }: IntroductionWord, answer: Card | undefined): string {
  const text = JSON.stringify([
    card?.signature,
    namespaces.map((each) => [each.twin, each.addresses]),
    answer?.signature,
  ]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

/** A namespace that is offloaded to two providers, with the name of its twin at the one that is told. */
export interface CommonNamespace {
  readonly twin: string;
  readonly pods: readonly Pod[];
  /** Whether a pod is bound to a node that stands for the other provider. */
  isThere(pod: Pod): boolean;
}

/** The consumer's pods at one provider that its pods at another may talk with, by the addresses that they have there. */
export function introducedNamespaces(
  /** Between the consumer and the provider where these pods are. */
  plan: AddressPlan["spec"],
  namespaces: readonly CommonNamespace[],
): { namespaces: IntroducedNamespace[]; left: number } {
  let room = MOST_ADDRESSES;
  let left = 0;
  const told = [...namespaces]
    .sort((one, other) => (one.twin < other.twin ? -1 : 1))
    .slice(0, MOST_NAMESPACES)
    .map(({ twin, pods, isThere }) => {
      const shown = pods.filter((pod) => isThere(pod) && hasOwnAddress(pod)).flatMap(podAddresses);
      const all = [...new Set(shown.flatMap((address) => meantThere(plan, address) ?? []))].sort();
      const addresses = all.slice(0, room);
      room -= addresses.length;
      left += all.length - addresses.length;
      return { twin, addresses };
    });
  return { namespaces: told.filter(({ addresses }) => addresses.length > 0), left };
}

/** Whom a consumer introduces to one of its providers: those that have twins of the same namespaces and take part. */
export function introducedSites(
  site: SiteId,
  twins: { namespacesAt(site: SiteId): readonly string[]; sitesOf(namespace: string): readonly SiteId[] },
  takesPart: (site: SiteId) => boolean,
): SiteId[] {
  if (!takesPart(site)) return [];
  const others = new Set(twins.namespacesAt(site).flatMap((namespace) => twins.sitesOf(namespace)));
  others.delete(site);
  return [...others].filter(takesPart).sort().slice(0, MOST_INTRODUCED);
}

/** As many as network facts name. */
const MOST_INTRODUCED = 128;
