import type { Clock, Logger } from "@fjord/base";
import { CertificateSigningRequest, type Impersonation, isNotFound, type KubeClient, TokenReview } from "@fjord/kube";
import { provenUser } from "../proven-user.ts";
import { LoginRefused } from "./errors.ts";
import { LOGIN, loginName } from "./login-code.ts";

export interface LoginOptions {
  /** The agent's own. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Finds out who somebody is, by asking the site's own API. */
export class Login {
  readonly #options: LoginOptions;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** Whose bearer token it is, by the API's word. */
  async byToken(token: string, signal: AbortSignal): Promise<Impersonation> {
    const review: TokenReview = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      metadata: {},
      spec: { token },
    };
    const { status } = await this.#options.client.create(TokenReview, review, { signal });
    const { authenticated = false, user } = status ?? {};
    if (!authenticated || !user?.username) throw new LoginRefused({ reason: "the API does not know this token" });
    return { user: user.username, groups: user.groups ?? [] };
  }

  /**
   * Who made the request that a code belongs to. It is deleted by that: of two who use one code at the same moment, one
   * is refused.
   */
  async byCode(code: string, signal: AbortSignal): Promise<Impersonation> {
    const { client, clock } = this.#options;
    const refused = () => new LoginRefused({ reason: "the link was used before, or is too old" });
    const proven = await provenUser(client, LOGIN, code, { clock, signal });
    if (proven === undefined) throw refused();
    const { who, uid, isFresh } = proven;
    await client
      .delete(CertificateSigningRequest, { name: loginName(code) }, { preconditions: { ...(uid && { uid }) }, signal })
      .catch((error: unknown) => {
        throw isNotFound(error) ? refused() : error;
      });
    if (!isFresh) throw refused();
    return who;
  }
}
