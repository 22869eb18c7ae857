import { parseQuantity } from "@fjord/kube";
import type { Resources } from "../protocol.ts";

/** Amounts by resource name, in billionths of each resource's unit. A name that is missing means nothing of it. */
export type Amounts = ReadonlyMap<string, bigint>;

/** Kubernetes counts no further: whatever is larger is this much. */
const MOST = (2n ** 63n - 1n) * 1_000_000_000n;

export function amountsOf(resources: Resources): Amounts {
  return new Map(Object.entries(resources).map(([name, quantity]) => [name, smaller(parseQuantity(quantity), MOST)]));
}

export function plus(a: Amounts, b: Amounts): Amounts {
  return combine(a, b, (x, y) => x + y);
}

/** What is left of `a` without `b`; never less than nothing. */
export function minus(a: Amounts, b: Amounts): Amounts {
  return combine(a, b, (x, y) => (x > y ? x - y : 0n));
}

/** For each resource the larger of the two. */
export function larger(a: Amounts, b: Amounts): Amounts {
  return combine(a, b, (x, y) => (x > y ? x : y));
}

/** For each resource of `a` the smaller of the two; what `b` does not name is not limited by it. */
export function atMost(a: Amounts, b: Amounts): Amounts {
  return new Map(Array.from(a, ([name, amount]) => [name, smaller(amount, b.get(name) ?? amount)]));
}

/** Whether `a` has at least as much of everything that `b` names. */
export function covers(a: Amounts, b: Amounts): boolean {
  for (const [name, amount] of b) if ((a.get(name) ?? 0n) < amount) return false;
  return true;
}

/** Whether both name the same resources with the same amounts, however these are written. */
export function sameAmounts(a: Amounts, b: Amounts): boolean {
  if (a.size !== b.size) return false;
  for (const [name, amount] of a) if (b.get(name) !== amount) return false;
  return true;
}

/** As Kubernetes writes them: `1500m`, `4Gi`, `110`. */
export function formatAmounts(amounts: Amounts): Record<string, string> {
  return Object.fromEntries(Array.from(amounts, ([name, amount]) => [name, formatQuantity(name, amount)]));
}

/** For people: `cpu 1500m, memory 4Gi`. */
export function describeAmounts(amounts: Amounts): string {
  const parts = Array.from(amounts, ([name, amount]) => `${name} ${formatQuantity(name, amount)}`);
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

const BILLION = 1_000_000_000n;
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const fractions = [
  { suffix: "m", unit: 1_000_000n },
  { suffix: "u", unit: 1_000n },
  { suffix: "n", unit: 1n },
];

function formatQuantity(name: string, amount: bigint): string {
  if (amount % BILLION === 0n) return isBytes(name) ? formatBytes(amount / BILLION) : String(amount / BILLION);
  const { suffix, unit } = fractions.find((each) => amount % each.unit === 0n) ?? { suffix: "n", unit: 1n };
  return `${amount / unit}${suffix}`;
}

function formatBytes(bytes: bigint): string {
  let rest = bytes;
  let power = 0;
  while (rest !== 0n && rest % 1024n === 0n && power < binarySuffixes.length - 1) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${binarySuffixes[power]}`;
}

function isBytes(name: string): boolean {
  return name === "memory" || name.endsWith("storage") || name.startsWith("hugepages-");
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function combine(a: Amounts, b: Amounts, operation: (x: bigint, y: bigint) => bigint): Amounts {
  const names = new Set([...a.keys(), ...b.keys()]);
  return new Map(Array.from(names, (name) => [name, operation(a.get(name) ?? 0n, b.get(name) ?? 0n)]));
}
