import { isDeepStrictEqual } from "node:util";
import { describeError, type Logger } from "@fjord/base";
import { chainDrift, listedChains } from "../fabric/firewall-drift.ts";
import {
  CLOSED_SECONDS,
  countsBy,
  FLOWS_TABLE,
  type FlowBound,
  flowBound,
  flowTable,
  REMOVED_FLOWS,
} from "../fabric/flow-bound.ts";
import type { NodeNetwork } from "./node-network.ts";

/** Where nobody knows how many flows the kernel remembers. */
const FEW = 65_536;

type FlowNetwork = Pick<NodeNetwork, "nft" | "nftTerse" | "rememberedFlows">;

/** Keeps what one peer may have of the flows that the node's kernel remembers. Links go on where the kernel cannot count them. */
export class BoundedFlows {
  readonly #network: FlowNetwork;
  readonly #logger: Logger;
  /** The chains as nft showed them when they were made; undefined where they are not. */
  #made: ReadonlyMap<string, string> | undefined;
  #brought: { readonly interfaces: readonly string[]; readonly remembered: number; readonly peers: number } | undefined;
  #isToldOf = false;
  #refused = 0;
  /** Since the table was made, when it was last looked at. */
  #counted: number | undefined;

  constructor(options: { readonly network: FlowNetwork; readonly logger: Logger }) {
    this.#network = options.network;
    this.#logger = options.logger;
  }

  async bring(interfaces: readonly string[], peers: number): Promise<void> {
    this.#made = undefined;
    this.#brought = undefined;
    if (interfaces.length === 0) return await this.remove();
    const remembered = (await this.#network.rememberedFlows()) ?? FEW;
    const there = await this.#network.nftTerse(FLOWS_TABLE);
    const make = async (bound: FlowBound) => {
      const isKept = there !== undefined && countsBy(bound, there);
      await this.#network.nft(`${isKept ? "" : REMOVED_FLOWS}${flowTable(interfaces, bound)}`);
    };
    try {
      await make(flowBound(remembered, peers)).catch((error: unknown) => {
        this.#logger.info("the kernel cannot be told to forget closed connections soon: peers open fewer", {
          reason: describeError(error),
        });
        return make(flowBound(remembered, peers, CLOSED_SECONDS.untold));
      });
    } catch (error) {
      const reason = describeError(error);
      if (!this.#isToldOf) this.#logger.warn("a peer may open any number of connections on this node", { reason });
      this.#isToldOf = true;
      return;
    }
    this.#brought = { interfaces, remembered, peers };
    const json = await this.#look();
    if (json !== undefined) this.#made = listedChains(json);
  }

  /** There are so many peers now. Where each has another share then, it is brought. */
  async share(peers: number): Promise<void> {
    if (this.#brought === undefined) return;
    const { interfaces, remembered, peers: before } = this.#brought;
    const isSame = isDeepStrictEqual(flowBound(remembered, before), flowBound(remembered, peers));
    if (!isSame) await this.bring(interfaces, peers);
  }

  /** What is not as it shall be, in words. */
  async drift(): Promise<string[]> {
    if (this.#made === undefined) return [];
    const json = await this.#look();
    if (json === undefined) return [`table ${FLOWS_TABLE} is gone`];
    return chainDrift(new Set(this.#made.keys()), this.#made, json);
  }

  /** Packets that would have opened more, as far as it was looked at. */
  get refused(): number {
    return this.#refused;
  }

  async remove(): Promise<void> {
    this.#made = undefined;
    this.#brought = undefined;
    this.#counted = undefined;
    await this.#network.nft(REMOVED_FLOWS);
  }

  async #look(): Promise<string | undefined> {
    const json = await this.#network.nftTerse(FLOWS_TABLE);
    if (json === undefined) return undefined;
    const { nftables } = JSON.parse(json) as { nftables: readonly { counter?: { name: string; packets: number } }[] };
    const now = nftables.find(({ counter }) => counter?.name === "refused")?.counter?.packets ?? 0;
    // What was there when this process began is not its own.
    const last = this.#counted ?? now;
    this.#refused += now >= last ? now - last : now;
    this.#counted = now;
    return json;
  }
}
