import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { percentText } from "./name.ts";

export const negativeText = "must be greater than or equal to 0";
export const notPositiveText = "must be greater than zero";

export function nonNegative(value: number | undefined, path: string): FieldError[] {
  return value !== undefined && value < 0 ? [invalidField(path, value, negativeText)] : [];
}

export function positive(value: number | undefined, path: string): FieldError[] {
  return (value ?? 0) <= 0 ? [invalidField(path, value ?? 0, notPositiveText)] : [];
}

export type IntOrString = number | string;

/** A number of zero or more, or a percentage. */
export function validateCountOrPercent(value: IntOrString | undefined, path: string): FieldError[] {
  if (typeof value === "string") return percentText(value).map((text) => invalidField(path, value, text));
  return nonNegative(value, path);
}

/** `25%` is 25; undefined for what is no percentage. */
export function percentOf(value: IntOrString | undefined): number | undefined {
  if (typeof value !== "string" || percentText(value).length > 0) return undefined;
  return Number(value.slice(0, -1));
}

export function validateAtMostHundredPercent(value: IntOrString | undefined, path: string): FieldError[] {
  const percent = percentOf(value);
  return percent !== undefined && percent > 100 ? [invalidField(path, value, "must not be greater than 100%")] : [];
}

/** A number of things out of `total`, percentages rounded up or down. */
export function countOf(value: IntOrString | undefined, total: number, round: "up" | "down"): number {
  const percent = percentOf(value);
  if (percent === undefined) return typeof value === "number" ? value : 0;
  return round === "up" ? Math.ceil((percent * total) / 100) : Math.floor((percent * total) / 100);
}
