import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { NetworkState } from "../network-state.ts";
import type { Gateway, LinkReport } from "./gateway.ts";

/** What a gateway shall be; undefined while that is not known, and then everything stays as it is. */
export interface GatewaySource {
  read(): Promise<{ readonly state: NetworkState; readonly privateKey: string } | undefined>;
}

export interface GatewayLoopOptions {
  readonly gateway: Gateway;
  readonly source: GatewaySource;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often the source is read, and links are looked after. @default 1,000 */
  readonly tickMs?: number;
  /** How often everything is compared with what it shall be. @default 30,000 */
  readonly checkMs?: number;
  /** Hears how links are, at every tick. */
  readonly told?: (reports: readonly LinkReport[]) => Promise<void>;
}

/** Keeps a gateway at what its source says. What it has made stays when it ends: traffic goes on, and the next one takes over. */
export class GatewayLoop {
  readonly #options: GatewayLoopOptions;
  #applied = "";
  #checkedAt = 0;
  #complaint = "";

  constructor(options: GatewayLoopOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, gateway, tickMs = 1000 } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#step();
        this.#complaint = "";
      } catch (error) {
        // Once for each reason: it is tried again every second.
        const reason = describeError(error);
        if (reason !== this.#complaint)
          logger.error("the node's network cannot be brought to what it shall be", { reason });
        this.#complaint = reason;
        this.#applied = "";
        gateway.forget();
      }
      await sleep(clock, tickMs, signal).catch(() => {});
    }
  }

  async #step(): Promise<void> {
    const { gateway, source, clock, logger, checkMs = 30_000, told } = this.#options;
    const wanted = await source.read();
    if (wanted === undefined) return;
    const text = JSON.stringify(wanted);
    if (text !== this.#applied) {
      await gateway.apply(wanted.state, wanted.privateKey);
      this.#applied = text;
      this.#checkedAt = clock.now();
      logger.info("the node's network is as it shall be", { peers: wanted.state.peers.length });
    } else if (clock.now() - this.#checkedAt >= checkMs) {
      this.#checkedAt = clock.now();
      await gateway.check();
    }
    const reports = await gateway.tend();
    await told?.(reports);
  }
}
