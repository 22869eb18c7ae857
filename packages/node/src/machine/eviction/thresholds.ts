import { inUnits, parseQuantity } from "@fjord/kube";
import { ThresholdInvalid } from "./errors.ts";

/** What is measured, in the kubelet's words. */
export const signals = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;

export type Signal = (typeof signals)[number];

/** An amount, or a share of what there is. */
export type Amount = { readonly absolute: number } | { readonly share: number };

export interface Threshold {
  readonly signal: Signal;
  readonly below: Amount;
  /** How long it has to be crossed before pods are evicted; 0 for hard thresholds. */
  readonly graceMs: number;
  /** How much more than the threshold has to be free again before it counts as held. */
  readonly reclaim?: Amount;
}

/** What there is of something, and how much of it is left. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

/** The kubelet's own. */
export const defaultHardThresholds =
  "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%";

/** Reads `memory.available<100Mi,nodefs.available<10%`; soft ones take their patience from `graceOf`. */
export function parseThresholds(
  text: string,
  options: { grace?: Readonly<Record<string, number>>; reclaim?: Readonly<Record<string, string>> } = {},
): Threshold[] {
  const parts = text.split(",").map((part) => part.trim());
  return parts.filter((part) => part !== "").map((part) => parseThreshold(part, options));
}

function parseThreshold(
  threshold: string,
  {
    grace = {},
    reclaim = {},
  }: { grace?: Readonly<Record<string, number>>; reclaim?: Readonly<Record<string, string>> },
): Threshold {
  const [name = "", amount = "", ...rest] = threshold.split("<").map((part) => part.trim());
  const signal = signals.find((each) => each === name);
  if (signal === undefined) {
    throw new ThresholdInvalid({ threshold, reason: `${name} is not one of ${signals.join(", ")}` });
  }
  if (rest.length > 0) throw new ThresholdInvalid({ threshold, reason: "it has more than one <" });
  const least = reclaim[signal];
  return {
    signal,
    below: parseAmount(amount, threshold),
    graceMs: grace[signal] ?? 0,
    ...(least !== undefined && { reclaim: parseAmount(least, threshold) }),
  };
}

function parseAmount(text: string, threshold: string): Amount {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text);
  if (percent !== null) {
    const share = Number(percent[1]) / 100;
    if (share > 1) throw new ThresholdInvalid({ threshold, reason: "it is more than everything" });
    return { share };
  }
  try {
    const absolute = inUnits(parseQuantity(text));
    if (absolute >= 0) return { absolute };
  } catch (error) {
    throw new ThresholdInvalid({ threshold, reason: `${text} is no amount` }, { cause: error });
  }
  throw new ThresholdInvalid({ threshold, reason: "it is less than nothing" });
}

export function amountOf(amount: Amount, capacity: number): number {
  return "share" in amount ? amount.share * capacity : amount.absolute;
}

/** Those that are crossed now. One that was crossed before has to be held with what is to be reclaimed on top. */
export function crossed(
  thresholds: readonly Threshold[],
  observations: Observations,
  before: ReadonlySet<Threshold> = new Set(),
): Threshold[] {
  return thresholds.filter((threshold) => {
    const seen = observations.get(threshold.signal);
    // A threshold of nothing is switched off.
    if (seen === undefined || amountOf(threshold.below, seen.capacity) === 0) return false;
    const { below, reclaim } = threshold;
    const more = before.has(threshold) && reclaim !== undefined ? amountOf(reclaim, seen.capacity) : 0;
    return seen.available < amountOf(below, seen.capacity) + more;
  });
}
