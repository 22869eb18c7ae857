import type { KubeClient } from "@fjord/kube";
import type { User } from "./access.ts";

export interface AccessAttributes {
  readonly verb: string;
  readonly subresource: string;
  readonly node: string;
}

/** Who knows users and their rights. Both throw where no answer can be had. */
export interface Reviewer {
  /** Undefined where the token is nobody's. */
  authenticate(token: string): Promise<User | undefined>;
  authorize(user: User, attributes: AccessAttributes): Promise<boolean>;
}

const TIMEOUT_MS = 10_000;

/** Asks the cluster's API server by TokenReview and SubjectAccessReview. */
export class ApiReviewer implements Reviewer {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  async authenticate(token: string): Promise<User | undefined> {
    const { authenticated, user } = await this.#review<TokenReviewStatus>("authentication.k8s.io", "TokenReview", {
      token,
    });
    if (authenticated !== true || typeof user?.username !== "string" || user.username === "") return undefined;
    return {
      name: user.username,
      groups: user.groups ?? [],
      ...(user.uid && { uid: user.uid }),
      ...(user.extra && { extra: user.extra }),
    };
  }

  async authorize(user: User, { verb, subresource, node }: AccessAttributes): Promise<boolean> {
    const { allowed, denied } = await this.#review<AccessReviewStatus>("authorization.k8s.io", "SubjectAccessReview", {
      user: user.name,
      groups: user.groups,
      uid: user.uid,
      extra: user.extra,
      resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name: node },
    });
    return allowed === true && denied !== true;
  }

  async #review<Status>(group: string, kind: string, spec: unknown): Promise<Partial<Status>> {
    const path = `/apis/${group}/v1/${kind.toLowerCase()}s`;
    const { body } = await this.#client.raw("POST", path, {
      body: { apiVersion: `${group}/v1`, kind, spec },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { status } = JSON.parse(body.toString("utf8")) as { status?: Partial<Status> };
    return status ?? {};
  }
}

interface TokenReviewStatus {
  authenticated: boolean;
  user: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
}

interface AccessReviewStatus {
  allowed: boolean;
  denied: boolean;
}
