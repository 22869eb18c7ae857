import { type Random, seededRandom } from "@fjord/base";
import type { Part } from "./test-life-bed.ts";

/** When in a pod's coming up something is killed. */
export const risingSteps = ["asked", "sandbox", "created", "init", "side", "running", "stumbled"] as const;
/** When in its end. `dead`: the node was killed before anyone asked for the end. */
export const fallingSteps = ["dead", "asked", "preStop", "term", "ended"] as const;

export type RisingStep = (typeof risingSteps)[number];
export type FallingStep = (typeof fallingSteps)[number];

export interface Fault<Step> {
  readonly step: Step;
  /** Milliseconds after the step was seen. */
  readonly delay: number;
  /** Killed at once, and started again in this order. */
  readonly parts: readonly Part[];
  /** Milliseconds until the first is started again, and between the first and the second. */
  readonly outage: number;
  readonly gap: number;
}

export interface LifePlan {
  readonly rising: Fault<RisingStep>;
  readonly falling: Fault<FallingStep>;
  /** Ended without any time to do so. */
  readonly force: boolean;
}

/** Every combination of steps and parts comes once before any comes again; the rest is chance. */
export function lifePlans(seed: number, parts: readonly Part[], count: number): LifePlan[] {
  const random = seededRandom(seed);
  const groups = [...parts.map((part) => [part]), ...pairs(parts)];
  const rising = shuffled(cross(risingSteps, groups), random);
  const falling = shuffled(cross(fallingSteps, groups), random);
  return Array.from({ length: count }, (_, index) => ({
    rising: fault(rising[index % rising.length] ?? raise(), random),
    falling: fault(falling[index % falling.length] ?? raise(), random),
    force: random() < 0.2,
  }));
}

function fault<Step>([step, parts]: readonly [Step, readonly Part[]], random: Random): Fault<Step> {
  return {
    step,
    delay: random() < 0.5 ? 0 : Math.floor(random() * 250),
    parts: step === "dead" ? [...new Set<Part>(["node", ...parts])] : shuffled(parts, random),
    outage: Math.floor(random() * 1500),
    // Long enough, now and then, for a node to go on from its store before the API is back.
    gap: random() < 0.3 ? 6_000 : Math.floor(random() * 500),
  };
}

function pairs(parts: readonly Part[]): Part[][] {
  return parts.flatMap((one, index) => parts.slice(index + 1).map((other) => [one, other]));
}

function cross<A, B>(some: readonly A[], others: readonly B[]): (readonly [A, B])[] {
  return some.flatMap((one) => others.map((other) => [one, other] as const));
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ item }) => item);
}

function raise(): never {
  throw new Error("there is nothing to kill");
}
