import type { Contract, Site } from "@fjord/api";
import type { SiteId } from "./site-identity.ts";

/**
 * The agents' own protocol: HTTPS with mutual TLS on one port, JSON, at most `LARGEST_BODY` bytes a message.
 *
 * Agents of neighbouring minors understand each other: a later version may add fields, which an older one does not read,
 * and reads a message in which they are missing as the older one meant it. Terms of a contract are kept and signed whole,
 * with whatever was added; an older consumer does not heed that, so it may promise more and demand nothing.
 */
export const PROTOCOL = "/fjord/v1";
/** Below this the other site's Kubernetes API is served. */
export const KUBE_PREFIX = "/kube";
export const LARGEST_BODY = 256 * 1024;
/** The port that agents listen on unless they are told otherwise. */
export const PEER_PORT = 7443;

export type Terms = Contract["spec"]["terms"];
export type Standing = Contract["spec"]["standing"];
export type Resources = Terms["resources"];
export type PublishedFacts = NonNullable<NonNullable<Site["status"]>["published"]>;

/** GET site: who this is, how it is, and where the asking site's contracts stand. Asked for about every second. */
export interface SiteReport {
  readonly id: SiteId;
  /** The public key in base64 that the id is derived from. */
  readonly publicKey?: string;
  readonly published: PublishedFacts;
  /** Where its agent is reached; empty where it dials out. */
  readonly endpoints: readonly string[];
  /** Present where the asking site may consume. */
  readonly shared?: Resources;
  readonly free?: Resources;
  /** What its owner lets guests have that they do not have otherwise, such as `hostNetwork`. */
  readonly guestPrivileges?: readonly string[];
  /** The asking site's contracts as consumer that have not ended more than an hour ago. */
  readonly contracts: readonly ContractReport[];
  /** How pods of the two can meet; absent where there is to be no link with the asking site. */
  readonly network?: NetworkFacts;
  /** How pods that are processes of machines can meet; absent where the agents carry nothing between the two. */
  readonly loopback?: LoopbackFacts;
  /** Stands for what the asking site has said of its own network, where it has; see NetworkWord. */
  readonly networkHeard?: string;
  /** By the id of a site that the asking one has introduced: stands for what was said, and for what would be answered; see IntroductionWord. */
  readonly introductions?: Readonly<Record<SiteId, string>>;
}

/** One side's part of an AddressPlan and a Link. */
export interface NetworkFacts {
  /** Of WireGuard, in base64. */
  readonly publicKey: string;
  /** The one that it is about to use. */
  readonly nextKey?: string;
  /** That it has the private half of the last of these, to whoever has that of the other side's last one; absent while it does not know that. */
  readonly keyProof?: string;
  /** Host and port where its gateway listens; empty where it dials. */
  readonly endpoints: readonly string[];
  /** The same for each lane of its links beyond the first. */
  readonly lanes?: readonly (readonly string[])[];
  /** That its pods have addresses of. */
  readonly ranges: readonly string[];
  /** What it calls those of the asking site. */
  readonly names: readonly { readonly range: string; readonly called: string }[];
  /** The hub that is to lead to its gateway, which the other side cannot meet, and the port that WireGuard has there. */
  readonly relay?: { readonly hub: string; readonly port: number };
  /** A hub that leads to its gateway too, for where the other side cannot meet it; as `relay`. */
  readonly fallback?: { readonly hub: string; readonly port: number };
  /** Ids of sites that its gateway leads the other side to. */
  readonly leadsTo?: readonly string[];
  /** Where its gateway hears of these, an address and a port: the two may meet there if both send at once. */
  readonly sights?: readonly { readonly site: string; readonly endpoint: string }[];
  /** Present where its agent carries packets of gateways over the agents' own connections, for where UDP does not pass. */
  readonly tcp?: true;
  /** What else of it the other side may reach, by addresses of its ranges; see Export. */
  readonly exports?: readonly ExportedFacts[];
  /** Whether, as provider, it lets the asking site introduce other providers to it. */
  readonly meets?: true;
  /** As consumer: ids of its other providers that it introduces to the asked one. */
  readonly introduces?: readonly SiteId[];
  /** What it calls ranges of those, which its guests at the asked one may use, too. */
  readonly calls?: readonly CalledRange[];
}

/** What a consumer calls a range of pods of one of its providers. */
export interface CalledRange {
  readonly site: SiteId;
  readonly range: string;
  readonly called: string;
}

export interface ExportedFacts {
  readonly name: string;
  /** One of each family at most. */
  readonly addresses: readonly string[];
  readonly ports: readonly { readonly name?: string; readonly protocol: "TCP" | "UDP"; readonly port: number }[];
}

/** One side's part of an AddressPlan where both have their pods on the loopback of their machines. */
export interface LoopbackFacts {
  /** Where the asking site may be led to: this site's own pods first, then what others are called here. */
  readonly ranges: readonly string[];
  /** What it calls those of the asking site. */
  readonly names: readonly { readonly range: string; readonly called: string }[];
}

export interface ContractReport {
  readonly id: string;
  readonly phase: "Proposed" | "Active" | "Expiring" | "Ended";
  /** Of the provider's own copy. */
  readonly standing: Standing;
  /** Reason of the provider's Ended condition. */
  readonly endReason?: string;
  /** What the provider is willing to give from now on, where that differs from the terms. */
  readonly limit?: Resources;
  /** Whether the tenant is ready: the proxy serves it. */
  readonly tenantReady: boolean;
}

/** PUT network: what a consumer says of its network, as a provider cannot always ask. Null takes it back. */
export interface NetworkWord {
  readonly network: NetworkFacts | null;
}

/**
 * PUT introductions/SITE: what a consumer says to a provider of another one that has guests of the same namespaces. It holds while
 * the consumer's network facts name that site. The answer is the asked provider's own card for that site.
 */
export interface IntroductionWord {
  /** The other provider's card for the asked one; absent while the consumer does not know it. */
  readonly card?: Card;
  readonly namespaces: readonly IntroducedNamespace[];
}

export interface IntroducedNamespace {
  /** Name of the twin at the asked provider. */
  readonly twin: string;
  /** Addresses of the consumer's pods of it at the other one, as they are there. */
  readonly addresses: readonly string[];
}

export interface IntroductionAnswer {
  /** Absent until there is something to say. */
  readonly card?: Card;
}

/** What a site says of its network to another one that it has never met, by the hand of somebody who cannot change it. */
export interface Card {
  /** The site's public key in base64, from which its id is derived. */
  readonly publicKey: string;
  /** JSON, as it was signed. */
  readonly text: string;
  /** In base64. */
  readonly signature: string;
}

/** POST pair: redeems a token. Whoever redeems has proven its id by its certificate. */
export interface PairRequest {
  readonly secret: string;
  /** Id of the site that issued the token, as the token says. */
  readonly issuer?: SiteId;
  readonly name?: string;
  readonly endpoints: readonly string[];
}

export interface PairAnswer {
  readonly name?: string;
  readonly endpoints: readonly string[];
}

/** POST contracts. The same `requestId` again gives the same contract. */
export interface ContractRequest {
  readonly requestId: string;
  readonly resources: Resources;
  /** The contract that this one is to renew or resize. */
  readonly supersedes?: string;
}

/** The provider's signature over the canonical JSON of the terms: a promise that stands for `HELD_MS` unless accepted. */
export interface ContractProposal {
  readonly terms: Terms;
  readonly signature: string;
  /** The provider's public key in base64, from which its id is derived: whoever has the id can check it. */
  readonly publicKey: string;
}

/** How long a provider holds capacity for a proposal that the consumer has not signed. */
export const HELD_MS = 60_000;

/** PUT contracts/ID/signature. Repeating it changes nothing. */
export interface ContractAcceptance {
  readonly signature: string;
}

/** PUT contracts/ID/standing: what the consumer's owner wants of it. `Ended` cancels. */
export interface StandingChange {
  readonly standing: Standing;
}

/** The body of every refusal. `code` is a stable word, `message` is for people. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  /** Amounts that would be granted, with code AmountRefused. */
  readonly available?: Resources;
}
