import { type Clock, describeError, type Logger } from "@fjord/base";
import { ApiError, type KubeClient } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import type { PeerRoute } from "../peer-routes.ts";

export interface OwnApiOptions {
  readonly client: Pick<KubeClient, "raw">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long the API may take to answer before it counts as away. @default 5000 */
  readonly patienceMs?: number;
}

/** For how long a peer that asks may be kept waiting. */
const WAIT_MS = 200;

/**
 * Whether the own Kubernetes API answers, as whoever asks at the moment finds out. One that refuses connections is away at
 * once; one that is slow has its patience, since a loaded machine is no loss.
 */
export class OwnApi {
  readonly #options: OwnApiOptions;
  #problem: string | undefined;
  #asking: { readonly since: number; readonly answer: Promise<void> } | undefined;

  constructor(options: OwnApiOptions) {
    this.#options = options;
  }

  /** What is wrong with it; undefined where nothing is. */
  async problem(): Promise<string | undefined> {
    const { clock, patienceMs = 5_000 } = this.#options;
    this.#asking ??= { since: clock.now(), answer: this.#ask() };
    const { since, answer } = this.#asking;
    let cancel = () => {};
    const enough = new Promise<void>((resolve) => {
      cancel = clock.after(WAIT_MS, resolve);
    });
    await Promise.race([answer, enough]);
    cancel();
    const isLate = this.#asking !== undefined && clock.now() - since >= patienceMs;
    return this.#problem ?? (isLate ? `it has not answered for ${patienceMs} ms` : undefined);
  }

  /** The same route, which refuses while the API is away: nothing that a peer may want can be done then. */
  guard(route: PeerRoute): PeerRoute {
    return {
      ...route,
      handle: async (call) => {
        const problem = await this.problem();
        if (problem === undefined) return route.handle(call);
        throw new PeerRefused({ code: "KubernetesAway", message: "its Kubernetes API does not answer" }, 503);
      },
    };
  }

  async #ask(): Promise<void> {
    const { client, logger } = this.#options;
    const before = this.#problem;
    try {
      await client.raw("GET", "/readyz");
      this.#problem = undefined;
    } catch (error) {
      // A refusal is an answer, unless it says that the server itself is not well.
      const isAlive = error instanceof ApiError && error.statusCode < 500;
      this.#problem = isAlive ? undefined : describeError(error);
    } finally {
      this.#asking = undefined;
    }
    if (before === undefined && this.#problem !== undefined)
      logger.warn("the own Kubernetes API does not answer: peers are told", { problem: this.#problem });
    if (before !== undefined && this.#problem === undefined) logger.info("the own Kubernetes API answers again");
  }
}
