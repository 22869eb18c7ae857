import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { NodeNetwork } from "./node-network.ts";

export interface FenceOptions {
  readonly network: NodeNetwork;
  /** WireGuard is silent so long after its agent. @default 3,000 */
  readonly lastsMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const TABLE = "inet fjord-fence";

/**
 * Lets WireGuard of a node speak only while the agent there lives. It would go on without: and, where another node has taken over its
 * links, take the peers' answers away from that one. The kernel forgets by itself that somebody lives.
 */
export class Fence {
  readonly #options: FenceOptions;
  #keeping: { readonly ports: string; readonly stop: AbortController; readonly done: Promise<void> } | undefined;

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  /** From now on, for WireGuard at these ports; the first time is over when this resolves. */
  async keep(ports: readonly number[]): Promise<void> {
    const text = ports.join(", ");
    if (this.#keeping?.ports === text) return;
    await this.rest();
    await this.#options.network.nft(`${fenceTable(text)}${this.#sign(ports)}`);
    const stop = new AbortController();
    this.#keeping = { ports: text, stop, done: this.#go(ports, stop.signal) };
  }

  /** WireGuard stays fenced, and is silent soon. */
  async rest(): Promise<void> {
    this.#keeping?.stop.abort();
    await this.#keeping?.done;
    this.#keeping = undefined;
  }

  async remove(): Promise<void> {
    await this.rest();
    await this.#options.network.nft(`table ${TABLE}\ndelete table ${TABLE}\n`);
  }

  async #go(ports: readonly number[], signal: AbortSignal): Promise<void> {
    const { clock, network, logger } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, this.#lastsMs / 4, signal);
      if (signal.aborted) return;
      try {
        await network.nft(this.#sign(ports));
      } catch (error) {
        // Others may have taken the table away.
        logger.warn("the links' fence is made anew", { reason: describeError(error) });
        await network.nft(fenceTable(ports.join(", "))).catch(() => {});
      }
    }
  }

  /** In one transaction, as what is there already would keep its time. */
  #sign(ports: readonly number[]): string {
    const elements = ports.map((port) => `${port} timeout ${this.#lastsMs}ms`).join(", ");
    return `flush set ${TABLE} live\nadd element ${TABLE} live { ${elements} }\n`;
  }

  get #lastsMs(): number {
    return this.#options.lastsMs ?? 3_000;
  }
}

function fenceTable(ports: string): string {
  return `table ${TABLE}
delete table ${TABLE}
table ${TABLE} {
  set live { type inet_service; flags timeout; }
  chain out {
    type filter hook output priority filter; policy accept;
    udp sport { ${ports} } udp sport != @live drop
  }
  chain in {
    type filter hook input priority filter; policy accept;
    udp dport { ${ports} } udp dport != @live drop
  }
}
`;
}
