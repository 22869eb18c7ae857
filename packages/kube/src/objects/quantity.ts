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
  const scaled = BigInt(whole + fraction) * (suffixes[suffix ?? ""] ?? billion);
  const amount = power >= 0 ? scaled * 10n ** BigInt(power) : ceilDivide(scaled, 10n ** BigInt(-power));
  return sign === "-" ? -amount : amount;
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
