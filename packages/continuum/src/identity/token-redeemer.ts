import {
  BOTH_WAYS_ANNOTATION,
  REDEEM_LABEL,
  REDEEMED_ANNOTATION,
  REFUSED_ANNOTATION,
  SITE_NAME_ANNOTATION,
  TRIED_ANNOTATION,
} from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  againAfter,
  type Cache,
  type Change,
  type Controller,
  done,
  isNotFound,
  type Result,
  type Runnable,
  Secret,
  watches,
} from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import { PeerRefused } from "../peer-refused-error.ts";
import { SiteKnownOtherwise, SiteNameTaken, TokenOfOwnSite, TokenUnreadable, TokenWithoutEndpoints } from "./errors.ts";
import { parseToken } from "./pairing-token.ts";
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

const TOO_MANY_REQUESTS = 429;
const FINAL = [TokenUnreadable, TokenOfOwnSite, TokenWithoutEndpoints, SiteNameTaken, SiteKnownOtherwise];
/** How long a Secret is kept whose asker did not come back for the answer. */
const KEPT_MS = 3_600_000;

/** Redeems the tokens that `fjord pair` puts into Secrets, and says there what became of them. */
export class TokenRedeemer implements Runnable {
  readonly name = "token redeemer";
  readonly needsLeaderElection = true;
  readonly #options: TokenRedeemerOptions;
  readonly #secrets: Cache<Secret>;
  readonly #controller: Controller;

  constructor(options: TokenRedeemerOptions) {
    this.#options = options;
    const { caches, namespace } = options.home;
    this.#secrets = caches.open(Secret, { namespace, labelSelector: `${REDEEM_LABEL}=true` }).cache;
    this.#controller = homeController(options.home, {
      name: "token-redeemer",
      // What is noted here of an attempt is no reason for the next.
      sources: [watches(this.#secrets, { when: (change) => !isAttempt(change) })],
      reconcile: ({ name }, { signal }) => this.#reconcile(name, signal),
      backoff: { initial: 500, max: 5_000 },
    });
  }

  run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    return this.#controller.run(stop, abandon);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Result> {
    const { home, tls, siteName, endpoints } = this.#options;
    const { client, namespace } = home;
    const secret = this.#secrets.get({ name, namespace });
    if (secret === undefined) return done();
    const notes = secret.metadata.annotations ?? {};
    if (notes[REDEEMED_ANNOTATION] !== undefined || notes[REFUSED_ANNOTATION] !== undefined) {
      return this.#removeWhenOld(secret, signal);
    }
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
      // An issuer that cannot be reached now may be later, as long as the token is good.
      if (!isFinal(error) && home.clock.now() < parseToken(token).expires) {
        if (notes[TRIED_ANNOTATION] !== describeError(error)) await this.#noteAttempt(name, error, signal);
        throw error;
      }
      await this.#note(name, REFUSED_ANNOTATION, describeError(error), signal);
    }
    return done();
  }

  /** Whoever asked removes it; this is for those that were killed before they could. */
  async #removeWhenOld({ metadata }: Secret, signal: AbortSignal): Promise<Result> {
    const { client, clock, namespace } = this.#options.home;
    const left = Date.parse(metadata.creationTimestamp ?? "") + KEPT_MS - clock.now();
    if (left > 0) return againAfter(left);
    const { name = "", uid } = metadata;
    await client.delete(Secret, { name, namespace }, { preconditions: { uid }, signal }).catch(ignoreNotFound);
    return done();
  }

  /** For whoever waits. */
  async #noteAttempt(name: string, error: unknown, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options.home;
    const patch = { metadata: { annotations: { [TRIED_ANNOTATION]: describeError(error) } } };
    await client.patch(Secret, { name, namespace }, "merge", patch, { signal }).catch(ignoreNotFound);
  }

  async #note(name: string, annotation: string, value: string, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options.home;
    // The token has done its work, and is no longer a secret that anybody needs.
    const patch = { metadata: { annotations: { [annotation]: value } }, data: { token: null } };
    await client.patch(Secret, { name, namespace }, "merge", patch, { signal }).catch(ignoreNotFound);
  }
}

function isAttempt(change: Change<Secret>): boolean {
  if (change.type !== "update") return false;
  const [before, now] = [change.old, change.object].map(({ metadata }) => metadata.annotations?.[TRIED_ANNOTATION]);
  return before !== now;
}

/** Whether trying again would change nothing. */
function isFinal(error: unknown): boolean {
  if (error instanceof PeerRefused) return error.statusCode !== TOO_MANY_REQUESTS;
  return FINAL.some((type) => error instanceof type);
}

/** Whoever asked is gone, and has taken the question along. */
function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
