/** Packets that the firewall of links has dropped, as no group and no rule lets them pass. */
export interface DeniedPackets {
  /** They came over links. */
  readonly in: number;
  /** They were about to go out over links. */
  readonly out: number;
}

export const NONE_DENIED: DeniedPackets = { in: 0, out: 0 };

/** Out of what `nft -j list table` prints: since the table was made. */
export function deniedPackets(json: string): DeniedPackets {
  const { nftables } = JSON.parse(json) as { nftables: readonly { readonly counter?: NftCounter }[] };
  const packetsOf = (name: string) => nftables.find(({ counter }) => counter?.name === name)?.counter?.packets ?? 0;
  return { in: packetsOf("denied-in"), out: packetsOf("denied-out") };
}

/** With what was counted since the last look; from the beginning, where a counter was set back. */
export function withDenied(total: DeniedPackets, last: DeniedPackets, now: DeniedPackets): DeniedPackets {
  const grown = (way: keyof DeniedPackets) => total[way] + (now[way] >= last[way] ? now[way] - last[way] : now[way]);
  return { in: grown("in"), out: grown("out") };
}

interface NftCounter {
  readonly name: string;
  readonly packets: number;
}
