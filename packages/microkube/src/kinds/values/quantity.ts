import { parseQuantity, type Quantity } from "@fjord/kube";
import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { negativeText, notPositiveText } from "./number.ts";

const billion = 1_000_000_000n;
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
