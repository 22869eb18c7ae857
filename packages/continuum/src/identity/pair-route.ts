import { Site } from "@fjord/api";
import { type Clock, FjordError, type Logger } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import type { PeerCall, PeerRoute } from "../peer-routes.ts";
import type { PairAnswer } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { AttemptLimits } from "./attempt-limits.ts";
import { checkEndpoints } from "./endpoint.ts";
import { type PairingTokens, tokenRefused } from "./pairing-tokens.ts";
import { ensurePeerSite, type PeerFacts } from "./peer-site.ts";
import type { RefusalCounter } from "./refusal-counter.ts";

export interface PairRouteOptions {
  readonly client: Pick<KubeClient, "list" | "get" | "create" | "update">;
  readonly tokens: PairingTokens;
  readonly site: SiteId;
  /** Name of the own Site object, which no peer gets. */
  readonly siteName: string;
  /** What a redeemer is told of this site; asked each time. */
  readonly about: () => PairAnswer;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `fjord_pairing_refused_total`, by reason. */
  readonly refused?: RefusalCounter;
}

/** `POST /pair`: whoever has a token becomes a peer that may consume. */
export function pairRoute(options: PairRouteOptions): PeerRoute {
  const { logger, refused } = options;
  const limits = new AttemptLimits(options.clock);
  const introduce = inTurn((facts: PeerFacts, signal: AbortSignal) =>
    ensurePeerSite(options.client, facts, options.siteName, signal),
  );
  return {
    method: "POST",
    path: "/pair",
    access: "stranger",
    async handle(call) {
      const { id } = call.caller;
      try {
        if (!limits.allow(id)) {
          throw new PeerRefused({ code: "TooManyAttempts", message: "too many attempts: wait a minute" }, 429);
        }
        return await pair(options, introduce, call);
      } catch (error) {
        if (error instanceof PeerRefused) {
          const reason = error.refusal.code;
          refused?.inc({ reason });
          logger.warn("pairing refused", { peer: id, reason });
        }
        throw error;
      }
    },
  };
}

type Introduce = (facts: PeerFacts, signal: AbortSignal) => Promise<Site>;

async function pair(
  options: PairRouteOptions,
  introduce: Introduce,
  { caller, body, signal }: PeerCall,
): Promise<PairAnswer> {
  const { client, tokens, site: own, about, logger } = options;
  const { secret, name, endpoints, issuer } = requestFrom(body);
  if (caller.id === own) throw tokenRefused("TokenInvalid");
  if (issuer !== undefined && issuer !== own) throw tokenRefused("TokenForeign");
  const redemption = await tokens.redeem(secret, caller.id, signal);
  if (redemption.madeSite !== undefined) {
    await checkStillThere(client, caller.id, redemption.madeSite, signal);
    return about();
  }
  const facts = { id: caller.id, name, endpoints, mayConsume: true };
  const site = await introduce(facts, signal);
  await redemption.complete(site.metadata.uid ?? "");
  logger.info("paired", { peer: caller.id, site: site.metadata.name });
  return about();
}

function requestFrom(body: unknown) {
  if (typeof body !== "object" || body === null) throw malformed("the body is no object");
  const { secret, name, endpoints, issuer } = body as Record<string, unknown>;
  try {
    return { secret, issuer, name: typeof name === "string" ? name : undefined, endpoints: checkEndpoints(endpoints) };
  } catch (error) {
    if (error instanceof FjordError) throw malformed(error.message);
    throw error;
  }
}

/** Otherwise a peer that was unpaired could come back with its old token. */
async function checkStillThere(client: PairRouteOptions["client"], id: SiteId, uid: string, signal: AbortSignal) {
  const { items } = await client.list(Site, { signal });
  if (!items.some((site) => site.metadata.uid === uid && site.spec.id === id)) throw tokenRefused("TokenUsed");
}

function malformed(message: string): PeerRefused {
  return new PeerRefused({ code: "RequestMalformed", message }, 400);
}

/** One call after the other: two redemptions of one peer at once, by two names, would make two Sites for it. */
function inTurn<Args extends unknown[], T>(work: (...args: Args) => Promise<T>): (...args: Args) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const turn = last.then(() => work(...args));
    last = turn.catch(() => {});
    return turn;
  };
}
