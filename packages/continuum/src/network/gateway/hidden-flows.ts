import { describeError, type Logger } from "@fjord/base";
import { type FlowEvent, flowReader, listMessage, type TrackedFlow } from "../fabric/tracked-flows.ts";
import { contains, type Family, type IpRange, parseRange } from "../ip-range.ts";
import { NETLINK_RELAY } from "./netlink-relay.ts";
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

/** As many as are said to the kernel at once. */
const AT_ONCE = 100;
/** The kernel has forgotten it by itself. */
const NOT_FOUND = 2;

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
    const child = this.#options.network.talk(["perl", "-e", NETLINK_RELAY]);
    const words: string[] = [];
    child.stderr.on("data", (chunk: Buffer) => void words.push(chunk.toString().trim()));
    child.stdin.on("error", () => {});
    const failed = new Promise<never>((_, reject) => {
      child.on("error", (error) => reject(new Error(`there is no perl: ${error.message}`)));
      child.on("close", () => reject(new Error(words.join(" ") || "what talks with the kernel has ended")));
    });
    failed.catch(() => {});
    try {
      return await Promise.race([this.#talk(child, own, remote), failed]);
    } finally {
      child.stdin.destroy();
      child.kill("SIGKILL");
    }
  }

  async #talk(
    { stdin, stdout }: Pick<ReturnType<NodeNetwork["talk"]>, "stdin" | "stdout">,
    own: readonly IpRange[],
    remote: readonly IpRange[],
  ): Promise<number> {
    const events = eventsOf(stdout);
    const hidden: Buffer[] = [];
    for (const family of [4, 6] as const) {
      stdin.write(listMessage(family));
      for await (const event of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) }) {
        if ("isLast" in event) break;
        if ("error" in event) throw new Error(`the kernel says error ${event.error}`);
        if (isHidden(event.flow, own, remote)) hidden.push(event.flow.forget);
      }
    }
    for (let at = 0; at < hidden.length; at += AT_ONCE) {
      const some = hidden.slice(at, at + AT_ONCE);
      stdin.write(Buffer.concat(some));
      for (const _ of some) {
        const { value } = await events.next();
        if ("error" in value && value.error !== 0 && value.error !== NOT_FOUND)
          throw new Error(`the kernel says error ${value.error}`);
      }
    }
    return hidden.length;
  }
}

/** Whether a flow of an own pod with a peer's goes out by another address than the pod's. */
export function isHidden(
  { family, from, answersFrom, answersTo }: Omit<TrackedFlow, "forget">,
  own: readonly IpRange[],
  remote: readonly IpRange[],
): boolean {
  const within = (all: readonly IpRange[], first: bigint) =>
    all.some((range) => contains(range, address(family, first)));
  return answersTo !== from && within(own, from) && within(remote, answersFrom);
}

/** Has no end, as that of the stream is no answer: who waits is told otherwise that there is none. */
async function* eventsOf(output: AsyncIterable<Buffer>): AsyncGenerator<FlowEvent, never> {
  const reader = flowReader();
  for await (const chunk of output) yield* reader.read(chunk);
  return await new Promise<never>(() => {});
}

function address(family: Family, first: bigint): IpRange {
  return { family, first, length: family === 4 ? 32 : 128 };
}

function ranges(texts: readonly string[]): IpRange[] {
  return texts.flatMap((text) => parseRange(text) ?? []);
}
