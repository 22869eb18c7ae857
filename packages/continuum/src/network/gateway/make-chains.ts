import { listedChains, madeChains } from "../fabric/firewall-drift.ts";
import type { NodeNetwork } from "./node-network.ts";

/**
 * Makes a table, all of it or nothing. Resolves with its chains as nft shows them: where it cannot at once, as it shows them afterwards, as links do not wait for a
 * disk that is full.
 */
export async function makeChains(
  network: Pick<NodeNetwork, "nft" | "nftShown" | "nftTable">,
  table: string,
  text: string,
): Promise<Map<string, string>> {
  const shown = await network.nftShown(text);
  if (shown !== undefined) return madeChains(shown);
  await network.nft(text);
  return listedChains((await network.nftTable(table)) ?? '{"nftables":[]}');
}
