import { deniedPackets, NONE_DENIED, type UngroupedPackets, withDenied } from "../fabric/denied-packets.ts";
import type { Fabric } from "../fabric/fabric.ts";
import { changedChains, firewallChange, removedFirewall, wholeFirewall } from "../fabric/firewall-change.ts";
import { firewallDrift, listedChains } from "../fabric/firewall-drift.ts";
import { TABLE } from "../fabric/table.ts";
import { makeChains } from "./make-chains.ts";
import type { NodeNetwork } from "./node-network.ts";

/** The firewall of links on a node, and what nft has shown of it, by which it is known whether others have changed it. */
export class NodeFirewall {
  readonly #network: NodeNetwork;
  /** The chains as nft showed them when they were made. */
  #made = new Map<string, string>();
  /** Chains that were made since, and that nft has not been asked for yet: to show one, it reads all that there is. */
  readonly #unseen = new Set<string>();
  #denied = NONE_DENIED;
  /** Since the table was made, when it was last looked at. */
  #counted = NONE_DENIED;

  constructor(network: NodeNetwork) {
    this.#network = network;
  }

  /** In the place of whatever there is. */
  async bring(fabric: Fabric): Promise<void> {
    this.#made = await makeChains(this.#network, TABLE, wholeFirewall(fabric));
    this.#unseen.clear();
    this.#counted = NONE_DENIED;
  }

  /** What it has dropped since this process brought it first, as far as it was looked at. */
  get denied(): UngroupedPackets {
    return this.#denied;
  }

  async change(before: Fabric, after: Fabric): Promise<void> {
    if (before.tableKey !== after.tableKey) return await this.bring(after);
    const change = firewallChange(before, after);
    await this.#network.nft(change);
    for (const name of changedChains(change)) this.#unseen.add(name);
  }

  /** Looks how nft shows what was made since it was last asked. */
  async see(): Promise<void> {
    if (this.#unseen.size > 0) this.#see((await this.#network.nftTable(TABLE)) ?? "");
  }

  /** What is not as it shall be, in words. */
  async drift(fabric: Fabric): Promise<string[]> {
    const json = await this.#network.nftTable(TABLE);
    if (json === undefined) return [`table ${TABLE} is gone`];
    this.#see(json);
    return firewallDrift(fabric, this.#made, json);
  }

  async remove(): Promise<void> {
    await this.#network.nft(removedFirewall());
  }

  #count(now: UngroupedPackets): void {
    this.#denied = withDenied(this.#denied, this.#counted, now);
    this.#counted = now;
  }

  #see(json: string): void {
    const there = json === "" ? new Map<string, string>() : listedChains(json);
    if (json !== "") this.#count(deniedPackets(json));
    for (const name of this.#unseen) {
      const text = there.get(name);
      if (text === undefined) this.#made.delete(name);
      else this.#made.set(name, text);
    }
    this.#unseen.clear();
  }
}
