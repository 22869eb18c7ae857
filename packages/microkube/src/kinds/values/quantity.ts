import { parseQuantity, type Quantity } from "@fjord/kube";
import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { negativeText, notPositiveText } from "./number.ts";

const billion = 1_000_000_000n;
const decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binary = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The one text that Kubernetes writes for an amount: `1000m` is `1`, `1024Ki` is `1Mi`, `0.5` is `500m`. */
export function canonicalQuantity(text: string | number): string {
  const amount = parseQuantity(text);
  if (amount === 0n) return "0";
  const form = String(text);
  if (form.endsWith("i") && amount % billion === 0n && magnitude(amount) >= 1024n * billion) {
    const [digits, power] = reduce(amount / billion, 1024n, binary.length - 1);
    return `${digits}${binary[power]}`;
  }
  const [digits, power] = reduce(amount, 1000n, decimal.length - 1);
  const exponent = (power - 3) * 3;
  if (/[eE][-+]?\d/.test(form)) return exponent === 0 ? String(digits) : `${digits}e${exponent}`;
  return `${digits}${decimal[power]}`;
}

/** Takes a base out of an amount as often as it is in it without a rest. */
function reduce(amount: bigint, base: bigint, most: number): [digits: bigint, power: number] {
  let digits = amount;
  let power = 0;
  while (power < most && digits % base === 0n) {
    digits /= base;
    power++;
  }
  return [digits, power];
}

const magnitude = (amount: bigint): bigint => (amount < 0n ? -amount : amount);

/** The amount of what was already accepted as a quantity; nothing counts as zero. */
export function amountOf(quantity: string | number | undefined): Quantity {
  return quantity === undefined ? 0n : parseQuantity(quantity);
}

export function sameQuantity(a: string | number | undefined, b: string | number | undefined): boolean {
  return amountOf(a) === amountOf(b);
}

export function isWhole(quantity: string | number): boolean {
  return parseQuantity(quantity) % billion === 0n;
}

export function nonNegativeQuantity(quantity: string | number | undefined, path: string): FieldError[] {
  return amountOf(quantity) < 0n ? [invalidField(path, String(quantity), negativeText)] : [];
}

export function positiveQuantity(quantity: string | number | undefined, path: string): FieldError[] {
  return amountOf(quantity) <= 0n ? [invalidField(path, String(quantity ?? "0"), notPositiveText)] : [];
}
