import type { KubeObject } from "@fjord/base";
import type { TokenReview } from "@fjord/kube";
import type { Review } from "../authorization/access-reviews.ts";
import type { Caller } from "../cluster.ts";
import { badRequest } from "../status-error.ts";
import { withAuthenticated } from "./request-authenticator.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

export interface IdentityReviewsOptions {
  readonly tokens: TokenAuthenticator;
  /** What a token must be for where the review does not say: `ServiceAccountTokens.audiences`. */
  readonly audiences: readonly string[];
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** The reviews of authentication.k8s.io, by kind. */
export function identityReviews({ tokens, audiences, now }: IdentityReviewsOptions): Record<string, Review> {
  return {
    async TokenReview({ body }) {
      const { token = "", audiences: asked = [] } = (body as TokenReview).spec ?? {};
      if (token === "") throw badRequest("token is required for TokenReview in authentication");
      return { ...body, status: statusOf(token, asked.length === 0 ? audiences : asked, tokens) } as KubeObject;
    },
    async SelfSubjectReview({ body, caller }) {
      const creationTimestamp = new Date(now()).toISOString().replace(/\.\d+Z$/, "Z");
      const { apiVersion, kind, metadata } = body;
      const status = { userInfo: userInfo(caller) };
      return { apiVersion, kind, metadata: { ...metadata, creationTimestamp }, status } as KubeObject;
    },
  };
}

function statusOf(token: string, audiences: readonly string[], tokens: TokenAuthenticator) {
  try {
    const owner = tokens.authenticateToken(token, audiences);
    if (owner === undefined) return { user: {}, error: "invalid bearer token" };
    const user = userInfo(withAuthenticated(owner.caller));
    return { authenticated: true, user, audiences: owner.audiences ?? audiences };
  } catch (error) {
    return { user: {}, error: `[invalid bearer token, ${(error as Error).message.replace(/^\[(.*)\]$/s, "$1")}]` };
  }
}

/** A caller as the API writes it. */
export function userInfo({ user, uid, groups, extra }: Caller): Record<string, unknown> {
  return { username: user, ...(uid && { uid }), ...(groups.length > 0 && { groups }), ...(extra && { extra }) };
}
