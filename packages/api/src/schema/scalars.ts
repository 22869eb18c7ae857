import { Schema } from "./schema.ts";

export interface StringLimits {
  minLength?: number;
  maxLength: number;
  /** For what agents write; a person deserves the words of `formatted`. */
  pattern?: string;
}

/** Free text, within limits. */
export function string(limits: StringLimits): Schema<string> {
  return new Schema({ typeName: "string", node: { type: "string", ...limits } }, "required");
}

export interface Format {
  /** The word for it in the reference. */
  name: string;
  maxLength: number;
  /** A regular expression that RE2 understands. */
  pattern: string;
  /** Ends the refusal: what the value must be, with an example. */
  words: string;
}

/** A string of a certain form. A pattern alone would be refused with nothing but the pattern, so a rule has the words. */
export function formatted({ name, maxLength, pattern, words }: Format): Schema<string> {
  return new Schema<string>({ typeName: name, node: { type: "string", maxLength } }, "required").rule(
    matches(pattern),
    words,
  );
}

/** The CEL expression for `self` matching a pattern. */
export function matches(pattern: string, operand = "self"): string {
  return `${operand}.matches(r'${pattern}')`;
}

/** One of a few words, each with its meaning. */
export function enumeration<const Values extends Record<string, string>>(
  values: Values,
): Schema<Extract<keyof Values, string>> {
  const meanings = Object.entries(values).map(([value, meaning]) => `\`${value}\`: ${meaning}`);
  return new Schema(
    {
      typeName: Object.keys(values)
        .map((value) => `\`${value}\``)
        .join(" or "),
      node: { description: meanings.join(" "), type: "string", enum: Object.keys(values) },
    },
    "required",
  );
}

export function integer(limits: { minimum: number; maximum?: number }): Schema<number> {
  return new Schema({ typeName: "integer", node: { type: "integer", format: "int64", ...limits } }, "required");
}

export function number(limits: { minimum: number; maximum: number }): Schema<number> {
  return new Schema({ typeName: "number", node: { type: "number", format: "double", ...limits } }, "required");
}

export function boolean(): Schema<boolean> {
  return new Schema({ typeName: "boolean", node: { type: "boolean" } }, "required");
}

/** An object that is kept as it is given: its schema is someone else's, and copying it would make the CRD huge. */
export function opaque(typeName = "object"): Schema<Record<string, unknown>> {
  return new Schema({ typeName, node: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }, "required");
}
