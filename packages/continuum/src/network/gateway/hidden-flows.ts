import { describeError, type Logger } from "@fjord/base";
import { TRANSLATED, type TrackedFlow } from "../fabric/tracked-flows.ts";
import { contains, type Family, type IpRange, parseRange } from "../ip-range.ts";
import { forgetFlows } from "./forget-flows.ts";
import type { NodeNetwork } from "./node-network.ts";

/** Whose pods keep their addresses on the way to whom. */
export interface KeptRanges {
  readonly own: readonly string[];
  readonly remote: readonly string[];
}

export interface HiddenFlowsOptions {
  readonly network: Pick<NodeNetwork, "talk">;
  readonly logger: Logger;
}

/**
 * Flows of pods to peers that began while nothing kept the pods' own network from giving them the node's address: before there was a link, or when others had taken the firewall away. The kernel gives them
 * that address for as long as they last, and nobody lets them pass by it. Once they are forgotten, they begin anew with their own.
 */
export class HiddenFlows {
  readonly #options: HiddenFlowsOptions;

  constructor(options: HiddenFlowsOptions) {
    this.#options = options;
  }

  /** Has the kernel forget those from `own` to `remote` ranges; resolves with how many. Where it cannot, that is said, and nothing else is disturbed. */
  async forget(own: readonly string[], remote: readonly string[]): Promise<number> {
    const { logger } = this.#options;
    try {
      const count = await this.#forget(ranges(own), ranges(remote));
      if (count > 0) logger.info("flows that had the node's address begin anew", { count });
      return count;
    } catch (error) {
      logger.warn("flows that began without the firewall may keep the node's address until they end", {
        reason: describeError(error),
      });
      return 0;
    }
  }

  /** Those that began before ranges were kept that are new. */
  async forgetEarlier(before: KeptRanges, after: KeptRanges): Promise<void> {
    const fresh = (part: keyof KeptRanges) => [...new Set(after[part]).difference(new Set(before[part]))];
    await this.forget(fresh("own"), after.remote);
    await this.forget(after.own, fresh("remote"));
  }

  async #forget(own: readonly IpRange[], remote: readonly IpRange[]): Promise<number> {
    if (own.length === 0 || remote.length === 0) return 0;
    return await forgetFlows(this.#options.network, TRANSLATED, (flow) => isHidden(flow, own, remote));
  }
}

/** Whether a flow of an own pod with a peer's goes out by another address than the pod's. */
export function isHidden(
  { family, from, answersFrom, answersTo }: Pick<TrackedFlow, "family" | "from" | "answersFrom" | "answersTo">,
  own: readonly IpRange[],
  remote: readonly IpRange[],
): boolean {
  const within = (all: readonly IpRange[], first: bigint) =>
    all.some((range) => contains(range, address(family, first)));
  return answersTo !== from && within(own, from) && within(remote, answersFrom);
}

function address(family: Family, first: bigint): IpRange {
  return { family, first, length: family === 4 ? 32 : 128 };
}

function ranges(texts: readonly string[]): IpRange[] {
  return texts.flatMap((text) => parseRange(text) ?? []);
}
