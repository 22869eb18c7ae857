import {
  BOTH_WAYS_ANNOTATION,
  REDEEM_LABEL,
  REDEEMED_ANNOTATION,
  REFUSED_ANNOTATION,
  SITE_NAME_ANNOTATION,
} from "@fjord/api";
import { describeError } from "@fjord/base";
import { type Cache, Controller, done, type Result, type Runnable, Secret, watches } from "@fjord/kube";
import type { Home } from "../home.ts";
import { PeerRefused } from "../peering/peer-refused-error.ts";
import { TokenOfOwnSite, TokenUnreadable, TokenWithoutEndpoints } from "./errors.ts";
import type { PeerTls } from "./peer-tls.ts";
import { redeemToken } from "./redeem-token.ts";

export interface TokenRedeemerOptions {
  readonly home: Home;
  readonly tls: PeerTls;
  /** Name of the own Site object. */
  readonly siteName: string;
  /** Where others reach this site. */
  readonly endpoints: () => readonly string[];
}

/** Redeems the tokens that `fjord pair` puts into Secrets, and says there what became of them. */
export class TokenRedeemer implements Runnable {
  readonly name = "token redeemer";
  readonly needsLeaderElection = true;
  readonly #options: TokenRedeemerOptions;
  readonly #secrets: Cache<Secret>;
  readonly #controller: Controller;

  constructor(options: TokenRedeemerOptions) {
    this.#options = options;
    const { caches, namespace, clock, random, logger, metrics } = options.home;
    this.#secrets = caches.open(Secret, { namespace, labelSelector: `${REDEEM_LABEL}=true` }).cache;
    this.#controller = new Controller({
      name: "token-redeemer",
      sources: [watches(this.#secrets)],
      reconcile: ({ name }, { signal }) => this.#reconcile(name, signal),
      backoff: { initial: 500, max: 5_000 },
      clock,
      random,
      logger,
      ...(metrics && { metrics }),
    });
  }

  run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    return this.#controller.run(stop, abandon);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Result> {
    const { home, tls, siteName, endpoints } = this.#options;
    const { client, namespace } = home;
    const secret = this.#secrets.get({ name, namespace });
    const notes = secret?.metadata.annotations ?? {};
    if (secret === undefined || notes[REDEEMED_ANNOTATION] !== undefined || notes[REFUSED_ANNOTATION] !== undefined)
      return done();
    const token = Buffer.from(secret.data?.token ?? "", "base64").toString("utf8");
    const wanted = notes[SITE_NAME_ANNOTATION];
    try {
      const site = await redeemToken(token, {
        tls,
        client,
        siteName,
        endpoints: endpoints(),
        bothWays: notes[BOTH_WAYS_ANNOTATION] === "true",
        ...(wanted !== undefined && { name: wanted }),
        signal,
      });
      await this.#note(name, REDEEMED_ANNOTATION, site.metadata.name ?? "", signal);
    } catch (error) {
      // An issuer that cannot be reached now may be later.
      if (!isFinal(error)) throw error;
      await this.#note(name, REFUSED_ANNOTATION, describeError(error), signal);
    }
    return done();
  }

  async #note(name: string, annotation: string, value: string, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options.home;
    // The token has done its work, and is no longer a secret that anybody needs.
    const patch = { metadata: { annotations: { [annotation]: value } }, data: { token: null } };
    await client.patch(Secret, { name, namespace }, "merge", patch, { signal });
  }
}

function isFinal(error: unknown): boolean {
  return [PeerRefused, TokenUnreadable, TokenOfOwnSite, TokenWithoutEndpoints].some((type) => error instanceof type);
}
