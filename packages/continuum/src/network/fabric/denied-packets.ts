/** Packets of links that a node has dropped. */
export interface DeniedPackets extends UngroupedPackets {
  /** They would have opened more connections than one peer may have there. */
  readonly beyond: number;
}

/** Those that no group and no rule lets pass. */
export interface UngroupedPackets {
  /** They came over links. */
  readonly in: number;
  /** They were about to go out over links. */
  readonly out: number;
}

export const NONE_DENIED: UngroupedPackets = { in: 0, out: 0 };

/** Out of what `nft -j list table` prints: since the table was made. */
export function deniedPackets(json: string): UngroupedPackets {
  const { nftables } = JSON.parse(json) as { nftables: readonly { readonly counter?: NftCounter }[] };
  const packetsOf = (name: string) => nftables.find(({ counter }) => counter?.name === name)?.counter?.packets ?? 0;
  return { in: packetsOf("denied-in"), out: packetsOf("denied-out") };
}

/** With what was counted since the last look; from the beginning, where a counter was set back. */
export function withDenied(total: UngroupedPackets, last: UngroupedPackets, now: UngroupedPackets): UngroupedPackets {
  const grown = (way: keyof UngroupedPackets) => total[way] + (now[way] >= last[way] ? now[way] - last[way] : now[way]);
  return { in: grown("in"), out: grown("out") };
}

interface NftCounter {
  readonly name: string;
  readonly packets: number;
}
