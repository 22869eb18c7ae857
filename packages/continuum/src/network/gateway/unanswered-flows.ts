import { type Clock, describeError, type Logger, steadyNow, TokenBucket } from "@fjord/base";
import { RecentMap } from "@fjord/kube";
import { type TrackedFlow, UNANSWERED } from "../fabric/tracked-flows.ts";
import { contains, type IpRange, parseRange } from "../ip-range.ts";
import { forgetFlows } from "./forget-flows.ts";
import type { NodeNetwork } from "./node-network.ts";

export interface UnansweredFlowsOptions {
  readonly network: Pick<NodeNetwork, "talk">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * How long after a link has fallen silent they are looked for. Endpoints leave Services meanwhile, and until the node's own rules follow, whoever tries again is led
 * there again: TCP does so after one second, and by then it is to be forgotten, where rules take some seconds, too.
 */
const AFTER_MS = [200, 600, 1_200, 2_100, 3_000, 3_900, 4_800, 5_700, 10_000, 20_000, 40_000, 80_000] as const;
/** The same where a link falls silent again and again: what a late look does not find was begun since, and is found after the next fall. */
const AFTER_OFTEN_MS = [600, 4_800] as const;
/** How often a peer's link may fall silent and be looked after as one that does so seldom: it can do so as often as it likes. */
const FALLS = { burst: 3, perSecond: 1 / 120 } as const;
const MOST_RANGES = 4096;

/** A look takes a process, and the kernel goes through all connections of the node for it: however many peers fall silent, it does so for a sixth of the time at most. */
const REST_MS = 300;
const REST_TIMES = 5;
const TCP = 6;

/**
 * Connections that a Service has led to a peer before it was known to be silent, and that nobody has answered. A node's kernel remembers for two minutes where it has
 * led each: who tries again is led there again, and so is whoever gets the same port for another one, though the endpoint has left the Service long ago. Once they
 * are forgotten, the next try gets an endpoint that is there. Those of UDP are Kubernetes' own care, and those to an address of the peer's itself have nowhere else to go.
 */
export class UnansweredFlows {
  readonly #options: UnansweredFlowsOptions;
  /** By range of a silent peer: when each next look is due. */
  readonly #looks = new Map<string, number[]>();
  readonly #falls = new RecentMap<TokenBucket>(MOST_RANGES);
  /** Until when there is no look. */
  #restUntil = Number.NEGATIVE_INFINITY;
  #cancel: () => void = () => {};
  #looking: Promise<void> | undefined;
  #isTold = false;

  constructor(options: UnansweredFlowsOptions) {
    this.#options = options;
  }

  /** What those peers are called here whose links are silent now. */
  keep(silent: readonly string[]): void {
    const fresh = silent.filter((range) => !this.#looks.has(range));
    const gone = [...this.#looks.keys()].filter((range) => !silent.includes(range));
    if (fresh.length + gone.length === 0) return;
    const now = steadyNow(this.#options.clock);
    for (const range of gone) this.#looks.delete(range);
    for (const range of fresh)
      this.#looks.set(
        range,
        this.#momentsOf(range).map((ms) => now + ms),
      );
    this.#plan();
  }

  /** Resolves when nothing more is asked of the kernel. */
  async close(): Promise<void> {
    this.#looks.clear();
    this.#cancel();
    await this.#looking;
  }

  #momentsOf(range: string): readonly number[] {
    const falls = this.#falls.getOrMake(range, () => new TokenBucket({ ...FALLS, clock: this.#options.clock }));
    return falls.tryTake() ? AFTER_MS : AFTER_OFTEN_MS;
  }

  /** One look is for all ranges whose moment has come by then. */
  #plan(): void {
    this.#cancel();
    const next = Math.min(...[...this.#looks.values()].flatMap(([first]) => first ?? []));
    if (this.#looking !== undefined || next === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#options;
    this.#cancel = clock.after(Math.max(0, Math.max(next, this.#restUntil) - steadyNow(clock)), () => {
      const began = steadyNow(clock);
      this.#looking = this.#look().finally(() => {
        const ended = steadyNow(clock);
        this.#restUntil = ended + Math.max(REST_MS, REST_TIMES * (ended - began));
        this.#looking = undefined;
        this.#plan();
      });
    });
  }

  async #look(): Promise<void> {
    const { network, clock, logger } = this.#options;
    const now = steadyNow(clock);
    const ranges = [...this.#looks.keys()].flatMap((range) => parseRange(range) ?? []);
    for (const [range, times] of this.#looks)
      this.#looks.set(
        range,
        times.filter((at) => at > now),
      );
    try {
      const count = await forgetFlows(network, UNANSWERED, (flow) => isUnanswered(flow, ranges));
      if (count > 0) logger.info("connections that a silent peer has not answered get other endpoints", { count });
    } catch (error) {
      const reason = describeError(error);
      if (!this.#isTold)
        logger.warn("connections that were begun to a silent peer's endpoints may hang for two minutes", { reason });
      this.#isTold = true;
    }
  }
}

/** Whether a flow is one of TCP's that was led to one of these ranges, and not begun to there, and that nothing has come back of. */
export function isUnanswered(
  { family, to, answersFrom, protocol, isAnswered }: Omit<TrackedFlow, "forget" | "from" | "answersTo">,
  ranges: readonly IpRange[],
): boolean {
  if (protocol !== TCP || isAnswered || to === answersFrom) return false;
  const address: IpRange = { family, first: answersFrom, length: family === 4 ? 32 : 128 };
  return ranges.some((range) => contains(range, address));
}
