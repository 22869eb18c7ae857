import type { Topology } from "./matrix-cell.ts";

/** What a Link says of its peer. */
export interface SeenLink {
  readonly way?: "Direct" | "Hub" | "TCP";
  /** Where the peer was last heard. */
  readonly endpoint?: string;
}

const DIRECT = ["directly", "directly, through one NAT", "directly, through both NATs"] as const;
const HUB = "through the third site";
const TCP = "in the agents' connection";

/** How gateways have to meet, in the words of `metBy`: the best way that there is, and no other. */
export const wantedWays: Readonly<Record<Topology, string>> = {
  direct: DIRECT[0],
  hub: HUB,
  "NAT one side": DIRECT[1],
  "NAT both": DIRECT[2],
  "symmetric NATs": HUB,
  "TCP only": TCP,
};

/** Routers' own addresses, by which a NAT calls those behind it. */
const OF_ROUTERS = /^(203\.0\.113\.|\[2001:db8:ff::)/;

/** How two gateways have met, by what both say. */
export function metBy(home: SeenLink = {}, away: SeenLink = {}): string {
  if (home.way !== away.way) return `${home.way ?? "not at all"} at the one, ${away.way ?? "not at all"} at the other`;
  switch (home.way) {
    case undefined:
      return "not at all";
    case "Hub":
      return HUB;
    case "TCP":
      return TCP;
    case "Direct":
      return DIRECT[[home, away].filter(({ endpoint = "" }) => OF_ROUTERS.test(endpoint)).length] as string;
  }
}
