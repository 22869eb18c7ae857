import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { NetworkState } from "../network-state.ts";
import type { Gateway, LinkReport } from "./gateway.ts";
import type { LinkProbe, ProbedLink } from "./link-probe.ts";

export interface GatewayWish {
  readonly state: NetworkState;
  /** The site's of WireGuard, in base64. */
  readonly privateKey: string;
}

/** What a gateway shall be; undefined while that is not known, and then everything stays as it is. */
export interface GatewaySource {
  read(): Promise<GatewayWish | undefined>;
}

export interface GatewayLoopOptions {
  readonly gateway: Pick<Gateway, "apply" | "check" | "tend" | "forget">;
  readonly source: GatewaySource;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often the source is read, and links are looked after. @default 1,000 */
  readonly tickMs?: number;
  /** How often everything is compared with what it shall be. @default 30,000 */
  readonly checkMs?: number;
  /** Asks peers over their links, which needs the state's `siteId`. @default nobody is asked */
  readonly probe?: Pick<LinkProbe, "tick" | "seen" | "close">;
  /** Hears how links are, at every tick. */
  readonly told?: (reports: readonly SeenReport[]) => Promise<void>;
}

/** What is known of a link, by WireGuard and by probes. */
export type SeenReport = LinkReport & ProbedLink;

/** Keeps a gateway at what its source says. What it has made stays when it ends: traffic goes on, and the next one takes over. */
export class GatewayLoop {
  readonly #options: GatewayLoopOptions;
  #applied = "";
  #checkedAt = 0;
  /** By what was attempted: said once for each reason, as it is tried again every second. */
  readonly #complaints = new Map<string, string>();

  constructor(options: GatewayLoopOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, tickMs = 1000 } = this.#options;
    while (!signal.aborted) {
      await this.#step();
      await sleep(clock, tickMs, signal).catch(() => {});
    }
    this.#options.probe?.close();
  }

  async #step(): Promise<void> {
    const { source, gateway, told } = this.#options;
    const wanted = await this.#attempt("what links shall be cannot be read", () => source.read());
    if (wanted === undefined) return;
    const reports = await this.#attempt("the node's network cannot be brought to what it shall be", async () => {
      try {
        await this.#bring(wanted);
        return await gateway.tend();
      } catch (error) {
        this.#applied = "";
        gateway.forget();
        throw error;
      }
    });
    if (reports === undefined) return;
    const seen = await this.#probed(reports, wanted.state);
    await this.#attempt("nobody hears how links are", async () => await told?.(seen));
  }

  async #probed(reports: readonly LinkReport[], { siteId, mtu }: NetworkState): Promise<SeenReport[]> {
    const { probe } = this.#options;
    const peers = reports.filter(({ fault }) => fault === undefined).map((each) => each.siteId);
    if (probe !== undefined && siteId !== undefined) await probe.tick(siteId, peers, mtu);
    return reports.map((report) => ({ ...report, ...probe?.seen(report.siteId) }));
  }

  async #bring({ state, privateKey }: GatewayWish): Promise<void> {
    const { gateway, clock, logger, checkMs = 30_000 } = this.#options;
    const text = JSON.stringify([state, privateKey]);
    if (text !== this.#applied) {
      await gateway.apply(state, privateKey);
      this.#applied = text;
      this.#checkedAt = clock.now();
      logger.info("the node's network is as it shall be", { peers: state.peers.length });
    } else if (clock.now() - this.#checkedAt >= checkMs) {
      this.#checkedAt = clock.now();
      await gateway.check();
    }
  }

  /** Undefined where it fails. */
  async #attempt<T>(failure: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      this.#complaints.delete(failure);
      return result;
    } catch (error) {
      const reason = describeError(error);
      if (this.#complaints.get(failure) !== reason) this.#options.logger.error(failure, { reason });
      this.#complaints.set(failure, reason);
      return undefined;
    }
  }
}
