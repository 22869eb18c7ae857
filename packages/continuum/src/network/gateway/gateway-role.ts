import type { Clock, Logger, Random } from "@fjord/base";
import { type KubeClient, LeaderElector, LeadershipLost } from "@fjord/kube";

export interface GatewayRoleOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "update">;
  /** The agent's. */
  readonly namespace: string;
  /** This node. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const GATEWAY_LEASE = "fjord-gateway";

/** A gateway that is silent for so long is replaced: with what the next one needs, within three seconds. */
const TIMING = { leaseDurationMs: 2_000, renewDeadlineMs: 1_500, retryPeriodMs: 250 } as const;

/**
 * Whether this node carries the links of its site: of all that may, one does, and another one when that falls silent. Who carries them
 * goes on while the API is away, as nobody else can have been given them: until it is seen that another one has.
 */
export class GatewayRole {
  readonly #options: GatewayRoleOptions;
  readonly #elector: LeaderElector;
  readonly #listeners = new Set<() => void>();

  constructor(options: GatewayRoleOptions) {
    this.#options = options;
    const { node, ...rest } = options;
    this.#elector = new LeaderElector({ ...rest, ...TIMING, name: GATEWAY_LEASE, identity: node });
  }

  /** Undefined while it is not known who does. */
  get carries(): boolean | undefined {
    const holder = this.#elector.holder;
    if (this.#elector.leading) return true;
    if (holder === undefined || holder === "") return undefined;
    // A run of before on this node counts: it has left the links as they were.
    return holder.slice(0, holder.lastIndexOf("_")) === this.#options.node;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#elector.run(signal, async (stop) => {
          for (const listener of this.#listeners) listener();
          await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
        });
      } catch (error) {
        if (!(error instanceof LeadershipLost)) throw error;
        this.#options.logger.warn("this node may no longer be the gateway", { reason: error.message });
      }
      for (const listener of this.#listeners) listener();
    }
  }
}
