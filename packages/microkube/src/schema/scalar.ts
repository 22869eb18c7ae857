import { canonicalQuantity } from "./quantity.ts";
import type { Schema } from "./schema.ts";
import { canonicalMicroTime, canonicalTime } from "./time-text.ts";

/** A value that is not of its type: what Go would have to say of it, less where it is. */
export class WrongType extends Error {
  /** As Go names the sent value: `string`, `number 1.5`. */
  readonly sent: string;
  /** The type, where it is not the field's own. */
  readonly wanted: string | undefined;

  constructor(value: unknown, wanted?: string, literal = "") {
    super();
    this.sent = nameOf(value) + literal;
    this.wanted = wanted;
  }
}

/** The value as Kubernetes' own types write it. Throws `WrongType`, or an Error with the types' own text. */
export function canonicalScalar(value: unknown, { type, format }: Schema): unknown {
  switch (type) {
    case "string":
      return text(value, format);
    case "boolean":
      if (typeof value !== "boolean") throw new WrongType(value);
      return value;
    case "integer":
      return integer(value, format === "int32" ? 2 ** 31 : 2 ** 63);
    case "number":
      if (typeof value !== "number") throw new WrongType(value);
      return value;
    case "int-or-string":
      if (format === "quantity") return canonicalQuantity(typeof value === "string" ? value : JSON.stringify(value));
      return typeof value === "string" ? value : integer(value, 2 ** 31, "int32");
    default:
      return value;
  }
}

function text(value: unknown, format: string | undefined): string {
  if (typeof value !== "string") {
    throw new WrongType(value, format === "date-time" || format === "micro-time" ? "string" : undefined);
  }
  if (format === "date-time") return canonicalTime(value);
  if (format === "micro-time") return canonicalMicroTime(value);
  return format === "byte" ? base64(value) : value;
}

function integer(value: unknown, limit: number, wanted?: string): number {
  if (typeof value !== "number") throw new WrongType(value, wanted);
  if (!Number.isInteger(value) || value >= limit || value < -limit) {
    throw new WrongType(value, wanted, ` ${JSON.stringify(value)}`);
  }
  return value;
}

function base64(value: string): string {
  const plain = value.replace(/[\r\n]/g, "");
  const wrong = /[^A-Za-z0-9+/]/.exec(plain.replace(/={1,2}$/, ""));
  if (wrong !== null) throw new Error(`illegal base64 data at input byte ${wrong.index}`);
  if (plain.length % 4 !== 0) throw new Error(`illegal base64 data at input byte ${plain.length - (plain.length % 4)}`);
  return plain;
}

function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
