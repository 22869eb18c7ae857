import { type Clock, type Logger, sleep } from "@fjord/base";
import { FirewallChanges, isAddressLost, isTaken } from "../fabric/foreign-change.ts";
import type { NodeNetwork } from "./node-network.ts";

export interface NodeWatchOptions {
  readonly network: Pick<NodeNetwork, "follow" | "isOwn" | "changedAt">;
  /** @default "fjord" */
  readonly interfacePrefix?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A program that has ended is started again after this. */
const AGAIN_MS = 5_000;
/** What is heard so soon after an own change is mostly of that: it is looked at once that is over. */
const OWN_MS = 300;

/** Hears from the kernel at once when somebody else changes what a gateway has made: until it is put back, packets are lost, or pass that must not. */
export class NodeWatch {
  readonly #options: NodeWatchOptions;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. `moved`: the node has lost an address. Where there is nothing to hear by, somebody has to look now and then, as before. */
  async run(changed: () => void, signal: AbortSignal, moved: () => void = () => {}): Promise<void> {
    const { network, interfacePrefix = "fjord" } = this.#options;
    const firewall = () => {
      const changes = new FirewallChanges();
      return (line: string) => {
        const process = changes.read(line);
        if (process !== undefined && !network.isOwn(process)) changed();
      };
    };
    let later: NodeJS.Timeout | undefined;
    const look = () => {
      if (later !== undefined || signal.aborted) return;
      const wait = network.changedAt + OWN_MS - performance.now();
      if (wait <= 0) changed();
      else
        later = setTimeout(() => {
          later = undefined;
          look();
        }, wait);
    };
    const links = () => (line: string) => {
      if (isTaken(line, interfacePrefix)) look();
      else if (isAddressLost(line, interfacePrefix)) moved();
    };
    await Promise.all([
      this.#follow(["nft", "monitor"], firewall, signal),
      this.#follow(["ip", "monitor", "address", "link", "route", "rule"], links, signal),
    ]);
    clearTimeout(later);
  }

  async #follow(command: readonly string[], reader: () => (line: string) => void, signal: AbortSignal): Promise<void> {
    const { network, clock, logger } = this.#options;
    while (!signal.aborted) {
      await network.follow(command, reader(), signal);
      if (signal.aborted) return;
      logger.warn("changes by others are not heard at once", { command: command.join(" ") });
      await sleep(clock, AGAIN_MS, signal);
    }
  }
}
