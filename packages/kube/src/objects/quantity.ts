import { InvalidQuantity } from "./errors.ts";

/** An amount of a resource in billionths of its unit (a processor, a byte): the smallest step that Kubernetes has. */
export type Quantity = bigint;

const billion = 1_000_000_000n;

const suffixes: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  "": billion,
  k: billion * 10n ** 3n,
  M: billion * 10n ** 6n,
  G: billion * 10n ** 9n,
  T: billion * 10n ** 12n,
  P: billion * 10n ** 15n,
  E: billion * 10n ** 18n,
  Ki: billion * 2n ** 10n,
  Mi: billion * 2n ** 20n,
  Gi: billion * 2n ** 30n,
  Ti: billion * 2n ** 40n,
  Pi: billion * 2n ** 50n,
  Ei: billion * 2n ** 60n,
};

const grammar = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5})|([numkMGTPE]|[KMGTPE]i)?)$/;

/** Reads `250m`, `1.5`, `64Mi`, `1e3`; a fraction of the smallest step counts as a whole one, as in Kubernetes. */
export function parseQuantity(text: string | number): Quantity {
  const match = grammar.exec(String(text));
  const [, sign, whole = "", fraction = "", exponent, suffix] = match ?? [];
  if (match === null || whole + fraction === "") throw new InvalidQuantity({ text: JSON.stringify(text) });
  const power = Number(exponent ?? 0) - fraction.length;
  const amount = amountOf(whole + fraction, power, suffixes[suffix ?? ""] ?? billion);
  return sign === "-" ? -amount : amount;
}

/** More than anybody has of anything, in billionths: whatever is larger is this much. */
const LARGEST = 10n ** 60n;
const MOST_DIGITS = 80;

/**
 * `digits`, times a power of ten, times `unit`. Texts come from strangers: a million digits, or an exponent of five, are
 * not multiplied out, which would take seconds.
 */
function amountOf(digits: string, power: number, unit: bigint): bigint {
  if (digits.length <= MOST_DIGITS && Math.abs(power) <= MOST_DIGITS) return scaled(BigInt(digits), power, unit);
  const significant = digits.replace(/^0+/, "");
  const magnitude = significant.length + power;
  if (significant === "") return 0n;
  if (magnitude > MOST_DIGITS) return LARGEST;
  // Even of the largest unit it is less than the smallest step.
  if (magnitude < -MOST_DIGITS) return 1n;
  const kept = significant.slice(0, MOST_DIGITS);
  // What is cut off counts as one more of the last digit that is left: it is rounded up in any case.
  const more = /[1-9]/.test(significant.slice(kept.length)) ? 1n : 0n;
  return scaled(BigInt(kept) + more, magnitude - kept.length, unit);
}

function scaled(digits: bigint, power: number, unit: bigint): bigint {
  const whole = digits * unit;
  const amount = power >= 0 ? whole * 10n ** BigInt(power) : ceilDivide(whole, 10n ** BigInt(-power));
  return amount < LARGEST ? amount : LARGEST;
}

/** In units of `divisor`, rounded up: `inUnits(parseQuantity("1500m"))` is 2. */
export function inUnits(quantity: Quantity, divisor: Quantity = billion): number {
  return Number(ceilDivide(quantity, divisor));
}

/** Thousandths, rounded up: what processors are counted in. */
export function inThousandths(quantity: Quantity): number {
  return inUnits(quantity, 1_000_000n);
}

/** The shortest text for a number of processors. */
export function formatProcessors(thousandths: number): string {
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`;
}

/** As the kubelet gives memory and storage: in kibibytes where they are whole ones. */
export function formatBytes(bytes: number): string {
  return bytes > 0 && bytes % 1024 === 0 ? `${bytes / 1024}Ki` : String(bytes);
}

function ceilDivide(amount: bigint, divisor: bigint): bigint {
  const quotient = amount / divisor;
  return amount > 0n && amount % divisor !== 0n ? quotient + 1n : quotient;
}
