import { type Clock, describeError, type Logger, sleep } from "@fjord/base";
import { MOST_LANES } from "../fabric/lanes.ts";
import { familyOf, HEIR_MARK } from "../fabric/route-change.ts";
import type { NodeNetwork } from "./node-network.ts";

export interface FenceOptions {
  readonly network: NodeNetwork;
  /** WireGuard is silent so long after its agent. @default 2,000 */
  readonly lastsMs?: number;
  /** What WireGuard's interfaces are called, before their number. @default "fjord" */
  readonly interfacePrefix?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Who takes over when the agent is no more. */
export interface Heir {
  /** By which it is reached. */
  readonly devices: readonly string[];
  /** Of peers: what is led there. */
  readonly ranges: readonly string[];
}

const TABLE = "inet fjord-fence";

/**
 * Lets WireGuard of a node speak only while the agent there lives. It would go on without: and, where another node has taken over its
 * links, take the peers' answers away from that one. The kernel forgets by itself that somebody lives. From then on packets of the node's own pods are led to who takes
 * over, where that is known.
 */
export class Fence {
  readonly #options: FenceOptions;
  #keeping: { readonly table: string; readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  #hasHeir = false;
  /** Whether the kernel can look up routes for rules of both families, and has packets of its own routed anew. */
  #canLead = true;

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  /** From now on, for WireGuard at these ports; the first time is over when this resolves. Where the kernel cannot lead to the heir, that is said once. */
  async keep(ports: readonly number[], heir?: Heir): Promise<void> {
    this.#hasHeir = heir !== undefined;
    const led = this.#canLead ? heir : undefined;
    try {
      await this.#keep(ports, led);
    } catch (error) {
      if (led === undefined) throw error;
      await this.#keep(ports, undefined);
      this.#canLead = false;
      this.#options.logger.warn(
        "pods of this node reach no peer while its gateway is no more: the kernel cannot lead them",
        {
          reason: describeError(error),
        },
      );
    }
  }

  async #keep(ports: readonly number[], heir: Heir | undefined): Promise<void> {
    const table = fenceTable(ports, this.#options.interfacePrefix ?? "fjord", heir);
    if (this.#keeping?.table === table) return;
    await this.rest();
    await this.#options.network.nft(`${table}${this.#sign(ports)}`);
    const stop = new AbortController();
    this.#keeping = { table, stop, done: this.#go(ports, table, stop.signal) };
  }

  /** WireGuard stays fenced, and is silent soon. */
  async rest(): Promise<void> {
    this.#keeping?.stop.abort();
    await this.#keeping?.done;
    this.#keeping = undefined;
  }

  /** The same, and at once where somebody takes over: two would else speak with one key. */
  async leave(): Promise<void> {
    await this.rest();
    if (!this.#hasHeir) return;
    try {
      await this.#options.network.nft(`flush set ${TABLE} live\nflush set ${TABLE} awake\n`);
    } catch (error) {
      this.#options.logger.warn("links are not silenced at once", { reason: describeError(error) });
    }
  }

  async remove(): Promise<void> {
    await this.rest();
    await this.#options.network.nft(`table ${TABLE}\ndelete table ${TABLE}\n`);
  }

  async #go(ports: readonly number[], table: string, signal: AbortSignal): Promise<void> {
    const { clock, network, logger } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, this.#lastsMs / 4, signal);
      if (signal.aborted) return;
      try {
        await network.nft(this.#sign(ports));
      } catch (error) {
        // Others may have taken the table away.
        logger.warn("the links' fence is made anew", { reason: describeError(error) });
        await network.nft(`${table}${this.#sign(ports)}`).catch(() => {});
      }
    }
  }

  /** In one transaction, as what is there already would keep its time. */
  #sign(ports: readonly number[]): string {
    const set = (name: string, keys: readonly (number | string)[]) => {
      const elements = keys.map((key) => `${key} timeout ${this.#lastsMs}ms`).join(", ");
      return `flush set ${TABLE} ${name}\nadd element ${TABLE} ${name} { ${elements} }\n`;
    };
    return set("live", ports) + set("awake", ["ipv4", "ipv6"]);
  }

  get #lastsMs(): number {
    return this.#options.lastsMs ?? 2_000;
  }
}

function fenceTable(ports: readonly number[], prefix: string, heir: Heir | undefined): string {
  const fenced = ports.join(", ");
  return `table ${TABLE}
delete table ${TABLE}
table ${TABLE} {
  set live { type inet_service; flags timeout; }
  set awake { type nf_proto; flags timeout; }
  chain out {
    type filter hook output priority filter; policy accept;
    udp sport { ${fenced} } udp sport != @live drop
  }
  chain in {
    type filter hook input priority filter; policy accept;
    udp dport { ${fenced} } udp dport != @live drop
  }
${heir === undefined ? "" : heirChains(prefix, heir)}}
`;
}

/**
 * What would go into links has the mark that leads to who takes over, once lanes are chosen; also where they are gone, as with WireGuard's process. What other nodes have sent
 * here has not: they learn who carries links, and two that do not know it yet would send it to and fro.
 */
function heirChains(prefix: string, { devices, ranges }: Heir): string {
  const mark = `0x${HEIR_MARK.toString(16)}`;
  const others = `0x${(~HEIR_MARK >>> 0).toString(16)}`;
  const lanes = Array.from({ length: MOST_LANES }, (_, lane) => `${prefix}${lane}`);
  const names = (all: readonly string[]) => `{ ${[...new Set(all)].map((name) => JSON.stringify(name)).join(", ")} }`;
  const peers = ([4, 6] as const).map((family) => {
    const elements = ranges.filter((range) => familyOf(range) === family).join(", ");
    return `  set peers${family} { type ipv${family}_addr; flags interval; auto-merge; ${elements && `elements = { ${elements} }; `}}\n`;
  });
  const toPeers = `meta nfproto @awake return
    ip daddr != @peers4 return
    ip6 daddr != @peers6 return`;
  const lead = `meta mark set meta mark | ${mark}`;
  const giveBack = `${toPeers}
    meta mark & ${mark} != 0 meta mark set meta mark & ${others}`;
  return `${peers.join("")}  chain lead {
    type filter hook prerouting priority dstnat + 6; policy accept;
    ${toPeers}
    iifname ${names([...devices, ...lanes, `${prefix}x`])} return
    fib daddr . mark oifname ${names(lanes)} ${lead}
    fib daddr . mark oif missing ${lead}
  }
  chain lead-own {
    type route hook output priority -94; policy accept;
    ${toPeers}
    oifname ${names(lanes)} ${lead}
  }
  chain give-back {
    type filter hook forward priority raw; policy accept;
    ${giveBack}
  }
  chain give-back-own {
    type filter hook postrouting priority raw; policy accept;
    ${giveBack}
  }
`;
}
