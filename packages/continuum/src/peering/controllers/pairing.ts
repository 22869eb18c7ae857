import type { Peering, Site } from "@fjord/api";
import { FjordError } from "@fjord/base";
import { type Cache, ConnectionError, isNotFound, Secret } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Answer } from "./peering-status.ts";

/** Redeems a token at the site that issued it; `name` is what its Site object is to be called. */
export type Redeem = (token: string, name: string, signal: AbortSignal) => Promise<{ readonly id: SiteId }>;

export interface PairingOptions {
  readonly home: Home;
  readonly sites: RemoteSites;
  readonly knownSites: Cache<Site>;
  readonly redeem: Redeem;
}

export interface Paired {
  readonly answer: Answer<"Paired">;
  readonly site?: RemoteSite;
  readonly againMs?: number;
}

/** Finds the provider of a Peering, by its token where it is not known yet. */
export class Pairing {
  readonly #options: PairingOptions;

  constructor(options: PairingOptions) {
    this.#options = options;
  }

  /** With `anew` the token is redeemed although there is a Site: the provider has said that it does not know this one. */
  async pair(peering: Peering, anew: boolean, signal: AbortSignal): Promise<Paired> {
    const { knownSites, sites } = this.#options;
    const known = knownSites.get({ name: peering.spec.site });
    if (known?.spec.id !== undefined && !anew) {
      const site = sites.get(known.spec.id);
      const answer = { reason: "SiteUnreachable", message: `nothing is known yet of ${peering.spec.site}` } as const;
      return site === undefined ? { answer, againMs: 500 } : { answer: { reason: "Accepted" }, site };
    }
    if (peering.spec.pairingSecret === undefined) {
      return { answer: { reason: "SiteUnknown", message: `there is no Site ${peering.spec.site} here` } };
    }
    return await this.#redeem(peering, peering.spec.pairingSecret, signal);
  }

  async #redeem(peering: Peering, secret: string, signal: AbortSignal): Promise<Paired> {
    const token = await this.#token(secret, signal);
    if (token === undefined) {
      const message = `there is no Secret ${secret} with a key token in ${this.#options.home.namespace}`;
      return { answer: { reason: "SecretMissing", message } };
    }
    try {
      const { id } = await this.#options.redeem(token, peering.spec.site, signal);
      const site = this.#options.sites.get(id);
      // The Site object was made just now: whoever watches Sites will know of it in a moment.
      if (site === undefined) return { answer: { reason: "SiteUnreachable" }, againMs: 50 };
      return { answer: { reason: "Accepted" }, site };
    } catch (error) {
      const answer = unredeemed(error);
      return { answer, ...(answer.reason === "SiteUnreachable" && { againMs: 5_000 }) };
    }
  }

  async #token(name: string, signal: AbortSignal): Promise<string | undefined> {
    const { client, namespace } = this.#options.home;
    try {
      const { data } = await client.get(Secret, { name, namespace }, { signal });
      return data?.token === undefined ? undefined : Buffer.from(data.token, "base64").toString().trim();
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** Why a token was not taken. */
function unredeemed(error: unknown): Answer<"Paired"> {
  if (error instanceof PeerRefused) {
    const { code, message } = error.refusal;
    if (code === "TokenExpired" || code === "TokenUsed") return { reason: code, message };
    return { reason: "TokenInvalid", message: `${message} (${code})` };
  }
  if (error instanceof ConnectionError) return { reason: "SiteUnreachable", message: error.message };
  if (!(error instanceof FjordError)) throw error;
  const isSilent = error.code === "PAIRING_FAILED" || error.code === "PEER_UNREACHABLE";
  return { reason: isSilent ? "SiteUnreachable" : "TokenInvalid", message: error.message };
}
