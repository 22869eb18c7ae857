import { type Clock, describeError, type Logger, type Random } from "@fjord/base";
import { ApiError, type KubeClient, type Pod } from "@fjord/kube";
import type { NodeStore } from "../store/node-store.ts";
import { TokenUnavailable } from "./errors.ts";
import type { Patience } from "./patience.ts";
import type { BoundToken, TokenRequestSpec } from "./pod-objects.ts";

export interface TokenSourceOptions {
  readonly client: Pick<KubeClient, "createToken">;
  readonly store: NodeStore;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** However long its life, a token is replaced once a day. */
const LONGEST_USE_MS = 24 * 3_600_000;
/** When to ask again after an older token had to do. */
const RETRY_MS = 10_000;

/** Tokens of service accounts, bound to pods. They outlast the process, so that a restart asks for none. */
export class TokenSource {
  readonly #options: TokenSourceOptions;
  readonly #asking = new Map<string, Promise<BoundToken>>();

  constructor(options: TokenSourceOptions) {
    this.#options = options;
  }

  async get(pod: Pod, request: TokenRequestSpec, signal?: AbortSignal): Promise<BoundToken> {
    const { uid = "" } = pod.metadata;
    const id = JSON.stringify([accountOf(pod), request.audience, request.expirationSeconds]);
    const stored = this.#options.store.token<BoundToken>(uid, id);
    if (stored !== undefined && this.#options.clock.now() < stored.refreshAt) return stored;
    const key = `${uid} ${id}`;
    const asking =
      this.#asking.get(key) ?? this.#ask(pod, request, id, stored, signal).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  forget(podUid: string): void {
    this.#options.store.removeTokens(podUid);
  }

  async #ask(
    pod: Pod,
    request: TokenRequestSpec,
    id: string,
    stored: BoundToken | undefined,
    signal: AbortSignal | undefined,
  ): Promise<BoundToken> {
    const { client, store, clock, random, logger, patience } = this.#options;
    const { uid = "", name = "", namespace = "" } = pod.metadata;
    const account = accountOf(pod);
    const late = new AbortController();
    const waitMs = patience.waitMs(stored !== undefined);
    const cancel = clock.after(waitMs, () => {
      patience.silent(waitMs);
      late.abort(new Error(`no answer within ${waitMs / 1000} s`));
    });
    try {
      const asked = clock.now();
      const issued = await client.createToken(
        { name: account, namespace },
        {
          ...(request.audience !== "" && { audiences: [request.audience] }),
          expirationSeconds: request.expirationSeconds,
          boundObject: { kind: "Pod", apiVersion: "v1", name, uid },
          signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
        },
      );
      const token = boundToken(issued, asked, random());
      store.putToken(uid, id, token);
      return token;
    } catch (error) {
      signal?.throwIfAborted();
      // A refusal is meant for good; silence is not, and then even an expired token lets the pod start.
      const refused = error instanceof ApiError && error.statusCode < 500 && ![401, 429].includes(error.statusCode);
      if (stored === undefined || refused) {
        const fields = {
          account: `${namespace}/${account}`,
          pod: `${namespace}/${name}`,
          reason: describeError(error),
        };
        throw new TokenUnavailable(fields, { cause: error });
      }
      const expired = stored.expiresAt <= clock.now();
      logger.warn("no new token for a pod: the older one has to do", {
        pod: `${namespace}/${name}`,
        expired,
        error: describeError(error),
      });
      return { ...stored, refreshAt: clock.now() + RETRY_MS };
    } finally {
      cancel();
    }
  }
}

/** Due after four fifths of its life, a little earlier at random: pods that started together do not ask together. */
export function boundToken(
  issued: { token: string; expirationTimestamp: string },
  issuedAt: number,
  chance: number,
): BoundToken {
  const expiresAt = Date.parse(issued.expirationTimestamp);
  const use = Math.min((expiresAt - issuedAt) * 0.8, LONGEST_USE_MS);
  return {
    token: issued.token,
    expiresAt,
    refreshAt: Math.round(issuedAt + use - chance * Math.min(10_000, use / 10)),
  };
}

function accountOf(pod: Pod): string {
  return pod.spec?.serviceAccountName || "default";
}
