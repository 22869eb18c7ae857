import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { between, characters } from "./name.ts";

export const portNumberText = between(1, 65535);

export function portNumber(port: number): string[] {
  return Number.isInteger(port) && port >= 1 && port <= 65535 ? [] : [portNumberText];
}

export function portName(name: string): string[] {
  const texts: string[] = [];
  if (name.length > 15) texts.push(characters(15));
  if (!/^[-a-z0-9]+$/.test(name)) {
    texts.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(name)) texts.push("must contain at least one letter (a-z)");
  if (name.includes("--")) texts.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) texts.push("must not begin or end with a hyphen");
  return texts;
}

/** A port by number or by name, as probes and services point at one. */
export function validatePortNumberOrName(port: number | string | undefined, path: string): FieldError[] {
  const texts = typeof port === "string" ? portName(port) : portNumber(port ?? 0);
  return texts.map((text) => invalidField(path, port ?? 0, text));
}
