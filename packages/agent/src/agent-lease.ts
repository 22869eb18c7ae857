import { AGENT_LEASE } from "@fjord/api";
import { describeError, sleep } from "@fjord/base";
import type { Home } from "@fjord/continuum/home";
import { Lease, type Runnable } from "@fjord/kube";

const FIELD_MANAGER = "fjord-agent-life";
const RENEWED_MS = 5_000;
const DURATION_SECONDS = 15;

/**
 * Shows that the agent lives, for whoever asks the API, where it is not one of several: candidates renew the same lease while they lead.
 * Nobody watches it, so that a renewal costs one small write.
 */
export class AgentLease implements Runnable {
  readonly name = "agent lease";
  readonly #home: Pick<Home, "client" | "clock" | "logger" | "namespace">;
  readonly #identity: string;

  constructor(home: Pick<Home, "client" | "clock" | "logger" | "namespace">, identity: string) {
    this.#home = home;
    this.#identity = identity;
  }

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#write({ holderIdentity: this.#identity, leaseDurationSeconds: DURATION_SECONDS }, stop);
      await sleep(this.#home.clock, RENEWED_MS, stop);
    }
    // Free for a candidate at once, and nobody waits to hear more.
    await this.#write({ leaseDurationSeconds: 1 }, AbortSignal.timeout(1_000));
  }

  async #write(spec: NonNullable<Lease["spec"]>, signal: AbortSignal): Promise<void> {
    const { client, clock, logger, namespace } = this.#home;
    const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
    const lease = { metadata: { name: AGENT_LEASE, namespace }, spec: { ...spec, renewTime } };
    try {
      await client.apply(Lease, lease, { fieldManager: FIELD_MANAGER, force: true, signal });
    } catch (error) {
      if (!signal.aborted) logger.warn("the agent's lease cannot be renewed", { error: describeError(error) });
    }
  }
}
