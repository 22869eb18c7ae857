import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import { ifNotFound, isConflict, isNotFound, type KubeClient, Secret } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import type { SiteId } from "../site-identity.ts";
import { isSecret } from "./pairing-token.ts";
import {
  isSecretOf,
  PAIRING_LABEL,
  readRecord,
  recordName,
  type TokenNote,
  type TokenRecord,
  withNote,
} from "./token-record.ts";

/** Why a token is refused; stable words. */
export type TokenRefusal = "TokenInvalid" | "TokenExpired" | "TokenUsed" | "TokenForeign";

export interface PairingTokensOptions {
  readonly client: Pick<KubeClient, "get" | "list" | "update" | "delete">;
  /** Where the Secrets of tokens are: the agent's. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an expired token is remembered, to be refused as what it is. @default 1 h */
  readonly rememberMs?: number;
}

/** A token that a site has been found to be the redeemer of. */
export interface Redemption {
  /** uid of the Site object that an earlier redemption by the same site has made. */
  readonly madeSite?: string;
  /** Notes what was made, so that it is not made again after its owner has deleted it. */
  complete(siteUid: string): Promise<void>;
}

const HOUR_MS = 3_600_000;
const SWEEP_MS = 10 * 60_000;

const MESSAGES: Record<TokenRefusal, string> = {
  TokenInvalid: "the token is not one of the site that it names, or was taken back: ask for a new one",
  TokenExpired: "the token has expired: ask for a new one",
  TokenUsed: "the token was used before, and is good for one site once: ask for a new one",
  TokenForeign: "the token is another site's: redeem it there",
};

export function tokenRefused(reason: TokenRefusal): PeerRefused {
  return new PeerRefused({ code: reason, message: MESSAGES[reason] });
}

/** The tokens that this site has issued. They are Secrets; that a token has one redeemer is the API server's doing. */
export class PairingTokens {
  readonly #options: PairingTokensOptions;

  constructor(options: PairingTokensOptions) {
    this.#options = options;
  }

  /**
   * Makes `redeemer` the one site that the token is for. Again for the same site it succeeds again, so that an answer
   * that was lost can be asked for again. Throws `PeerRefused` with a `TokenRefusal`.
   */
  async redeem(secret: unknown, redeemer: SiteId, signal?: AbortSignal): Promise<Redemption> {
    if (!isSecret(secret)) throw tokenRefused("TokenInvalid");
    for (;;) {
      const found = await this.#find(secret, signal);
      const record = found && readRecord(found);
      if (found === undefined || record === undefined || !isSecretOf(record, secret))
        throw tokenRefused("TokenInvalid");
      const refusal = this.#refusal(record, redeemer);
      if (refusal !== undefined) throw tokenRefused(refusal);
      const claimed =
        record.redeemedBy === redeemer ? found : await this.#note(found, { redeemedBy: redeemer }, signal);
      if (claimed === undefined) continue;
      return { madeSite: record.madeSite, complete: (uid) => this.#complete(claimed, secret, uid, signal) };
    }
  }

  /** Removes what has expired, every ten minutes until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        await this.sweep(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("cannot remove expired pairing tokens", { error: describeError(error) });
      }
      await sleep(clock, SWEEP_MS, signal);
    }
  }

  /** Removes tokens that expired longer ago than they are remembered. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const { client, namespace, clock, rememberMs = HOUR_MS } = this.#options;
    const { items } = await client.list(Secret, { namespace, labelSelector: `${PAIRING_LABEL}=true`, signal });
    for (const secret of items) {
      const record = readRecord(secret);
      if (record === undefined || clock.now() < record.expires + rememberMs) continue;
      const { name = "", uid } = secret.metadata;
      await client.delete(Secret, { name, namespace }, { preconditions: { uid }, signal }).catch(ignoreGone);
    }
  }

  #refusal(record: TokenRecord, redeemer: SiteId): TokenRefusal | undefined {
    if (record.redeemedBy !== undefined && record.redeemedBy !== redeemer) return "TokenUsed";
    // Nothing is given any more to whoever asks for a lost answer, so that may be late.
    if (record.madeSite !== undefined) return undefined;
    return this.#options.clock.now() >= record.expires ? "TokenExpired" : undefined;
  }

  async #find(secret: string, signal?: AbortSignal): Promise<Secret | undefined> {
    const { client, namespace } = this.#options;
    return await client.get(Secret, { name: recordName(secret), namespace }, { signal }).catch(ifNotFound);
  }

  /** Undefined where somebody else wrote first, or the token was taken back: look again. */
  async #note(secret: Secret, note: TokenNote, signal?: AbortSignal): Promise<Secret | undefined> {
    try {
      return await this.#options.client.update(Secret, withNote(secret, note), { signal });
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #complete(claimed: Secret, secret: string, madeSite: string, signal?: AbortSignal): Promise<void> {
    let latest: Secret | undefined = claimed;
    while (latest !== undefined && readRecord(latest)?.madeSite === undefined) {
      if ((await this.#note(latest, { madeSite }, signal)) !== undefined) return;
      latest = await this.#find(secret, signal);
    }
  }
}

/** Somebody else has deleted it, or made another of that name. */
function ignoreGone(error: unknown): void {
  if (!isNotFound(error) && !isConflict(error)) throw error;
}
