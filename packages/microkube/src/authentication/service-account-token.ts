import { randomUUID } from "node:crypto";
import type { KubeObject } from "@fjord/base";
import type { Caller, Cluster } from "../cluster.ts";
import { find } from "../cluster-objects.ts";
import { claimsOf, TokenSigner } from "./json-web-token.ts";
import { checkSecretToken, LEGACY_ISSUER } from "./secret-token.ts";
import { serviceAccountCaller } from "./service-account-caller.ts";
import type { TokenAuthenticator, TokenOwner } from "./token-authenticator.ts";

export interface ServiceAccountTokensOptions {
  readonly cluster: Cluster;
  /** P-256 in PEM: `ClusterCredentials.serviceAccountKey`. */
  readonly key: string;
  /** @default "https://kubernetes.default.svc.cluster.local" */
  readonly issuer?: string;
  /** What the API server itself answers to. @default the issuer alone */
  readonly audiences?: readonly string[];
}

/** An object that a token is bound to: with it, the token ends. */
export interface Bound {
  readonly name: string;
  readonly uid?: string;
}

export interface TokenOrder {
  readonly account: KubeObject;
  readonly audiences: readonly string[];
  readonly seconds: number;
  readonly pod?: Bound;
  readonly node?: Bound;
  readonly secret?: Bound;
  /** Seconds after which its use is noted; the token itself is then given longer. */
  readonly warnAfter?: number;
}

/** Clocks may differ by this much; also how long a deleted object's tokens still hold. */
const LEEWAY_MS = 60_000;
const KNOWN_TOKENS = 4096;
const DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local";

/** Issues service accounts' tokens and knows them again. */
export class ServiceAccountTokens implements TokenAuthenticator {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly #cluster: Cluster;
  readonly #signer: TokenSigner;
  /** Claims of tokens whose signature was found good: checking it again would cost more than all else of a request. */
  readonly #known = new Map<string, Record<string, unknown>>();

  constructor({ cluster, key, issuer = DEFAULT_ISSUER, audiences = [issuer] }: ServiceAccountTokensOptions) {
    this.#cluster = cluster;
    this.#signer = new TokenSigner(key);
    this.issuer = issuer;
    this.audiences = audiences;
  }

  issue({ account, audiences, seconds, pod, node, secret, warnAfter }: TokenOrder): string {
    const { name = "", namespace = "", uid } = account.metadata;
    const now = Math.floor(this.#cluster.clock.now() / 1000);
    const bound = { ...(pod && { pod }), ...(secret && { secret }), ...(node && { node }) };
    return this.#signer.sign({
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: this.issuer,
      jti: randomUUID(),
      "kubernetes.io": {
        namespace,
        ...bound,
        serviceaccount: { name, uid },
        ...(warnAfter !== undefined && { warnafter: now + warnAfter }),
      },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    });
  }

  /** The token for a Secret of type kubernetes.io/service-account-token: it holds as long as the Secret is there. */
  issueForSecret(account: KubeObject, secretName: string): string {
    const { name = "", namespace = "", uid } = account.metadata;
    return this.#signer.sign({
      iss: LEGACY_ISSUER,
      "kubernetes.io/serviceaccount/namespace": namespace,
      "kubernetes.io/serviceaccount/secret.name": secretName,
      "kubernetes.io/serviceaccount/service-account.name": name,
      "kubernetes.io/serviceaccount/service-account.uid": uid,
      sub: `system:serviceaccount:${namespace}:${name}`,
    });
  }

  authenticateToken(token: string, audiences = this.audiences): TokenOwner | undefined {
    const claims = this.#known.get(token) ?? claimsOf(token);
    if (claims?.iss !== this.issuer && claims?.iss !== LEGACY_ISSUER) return undefined;
    if (!this.#known.has(token)) {
      if (!this.#signer.hasSigned(token)) throw new Error("go-jose/go-jose: error in cryptographic primitive");
      this.#remember(token, claims);
    }
    const isLegacy = claims.iss === LEGACY_ISSUER;
    const own = isLegacy || claims.aud === undefined ? this.audiences : [claims.aud as string | string[]].flat();
    const common = own.filter((one) => audiences.includes(one));
    if (common.length === 0) {
      throw new Error(`token audiences ${quoted(own)} is invalid for the target audiences ${quoted(audiences)}`);
    }
    const caller = isLegacy ? checkSecretToken(this.#cluster, token, claims) : this.#check(claims);
    return { caller, audiences: common };
  }

  /** `/.well-known/openid-configuration`. */
  openIdConfiguration(server: string): Record<string, unknown> {
    return {
      issuer: this.issuer,
      jwks_uri: `${server}/openid/v1/jwks`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
    };
  }

  /** `/openid/v1/jwks`. */
  get webKeys(): { keys: Record<string, unknown>[] } {
    return { keys: [this.#signer.webKey] };
  }

  #remember(token: string, claims: Record<string, unknown>): void {
    if (this.#known.size >= KNOWN_TOKENS) this.#known.clear();
    this.#known.set(token, claims);
  }

  #check(claims: Record<string, unknown>): Caller {
    const now = this.#cluster.clock.now();
    const { exp, nbf, iat, jti } = claims as Record<string, number | undefined>;
    if (nbf !== undefined && now + LEEWAY_MS < nbf * 1000) throw new Error("service account token is not valid yet");
    if (exp !== undefined && now - LEEWAY_MS > exp * 1000) throw new Error("service account token has expired");
    if (iat !== undefined && now + LEEWAY_MS < iat * 1000) {
      throw new Error("service account token is issued in the future");
    }
    const claim = claims["kubernetes.io"] as PrivateClaims;
    const { namespace, serviceaccount, secret, pod, node } = claim;
    this.#checkAccount(namespace, serviceaccount);
    if (secret) this.#checkBound("Secret", namespace, secret);
    if (pod) this.#checkBound("Pod", namespace, pod);
    else if (node) this.#checkBound("Node", "", node);
    const prefix = "authentication.kubernetes.io";
    return serviceAccountCaller(namespace, serviceaccount.name, serviceaccount.uid, {
      ...(pod && { [`${prefix}/pod-name`]: [pod.name], [`${prefix}/pod-uid`]: [pod.uid ?? ""] }),
      ...(node && { [`${prefix}/node-name`]: [node.name], [`${prefix}/node-uid`]: [node.uid ?? ""] }),
      ...(jti !== undefined && { [`${prefix}/credential-id`]: [`JTI=${jti}`] }),
    });
  }

  #checkAccount(namespace: string, { name, uid }: Bound): void {
    const account = find(this.#cluster, "ServiceAccount", namespace, name);
    if (account === undefined) throw new Error(`serviceaccounts "${name}" not found`);
    if (account.metadata.uid !== uid) {
      throw new Error(`service account UID (${account.metadata.uid}) does not match claim (${uid})`);
    }
    if (this.#isLongDeleted(account)) throw new Error(`service account ${namespace}/${name} has been deleted`);
  }

  #checkBound(kind: "Secret" | "Pod" | "Node", namespace: string, { name, uid }: Bound): void {
    const object = find(this.#cluster, kind, namespace, name);
    if (object === undefined) throw new Error("service account token has been invalidated");
    if (object.metadata.uid !== uid) {
      const word = kind.toLowerCase();
      throw new Error(`${word} UID (${object.metadata.uid}) does not match service account ${word} ref claim (${uid})`);
    }
    if (this.#isLongDeleted(object)) throw new Error("service account token has been invalidated");
  }

  #isLongDeleted({ metadata }: KubeObject): boolean {
    const { deletionTimestamp } = metadata;
    return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < this.#cluster.clock.now() - LEEWAY_MS;
  }
}

interface PrivateClaims {
  readonly namespace: string;
  readonly serviceaccount: Bound;
  readonly secret?: Bound;
  readonly pod?: Bound;
  readonly node?: Bound;
}

/** As Go prints lists of strings. */
const quoted = (texts: readonly string[]) => `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
