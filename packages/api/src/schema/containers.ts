import { type AnySchema, type InOf, type OutOf, type Presence, Schema, withRule } from "./schema.ts";
import type { StructuralSchema, ValidationRule } from "./structural.ts";

export type Fields = Readonly<Record<string, AnySchema>>;

type KeysBy<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K] extends Schema<infer _O, infer _I, infer Q> ? (Q extends P ? K : never) : never;
}[keyof F];

type Flatten<T> = { [K in keyof T]: T[K] };

/** What a reader gets: only what is optional may be missing. */
export type ReadFields<F extends Fields> = Flatten<
  { [K in KeysBy<F, "required" | "defaulted">]: OutOf<F[K]> } & { [K in KeysBy<F, "optional">]?: OutOf<F[K]> }
>;

/** What a writer gives: what has a default may be left out too. */
export type WrittenFields<F extends Fields> = Flatten<
  { [K in KeysBy<F, "required">]: InOf<F[K]> } & { [K in KeysBy<F, "optional" | "defaulted">]?: InOf<F[K]> }
>;

export interface ObjectOptions {
  /** Keeps fields that are not named here. */
  open?: boolean;
  /** Replaced as a whole by server-side apply. */
  atomic?: boolean;
}

export function object<const F extends Fields>(
  fields: F,
  options: ObjectOptions = {},
): Schema<ReadFields<F>, WrittenFields<F>> {
  const properties: Record<string, StructuralSchema> = {};
  const children: Record<string, AnySchema> = {};
  const rules: ValidationRule[] = [];
  for (const [name, field] of Object.entries(fields)) {
    children[`.${name}`] = field;
    properties[name] = field.node;
    if (field.parts.immutable === undefined) continue;
    // An optional field's own transition rule is silent when the field is added or removed: its parent has to watch it.
    if (field.presence === "optional") rules.push(writtenOnce(name, field.parts.immutable));
    else properties[name] = withRule(field.node, { rule: "self == oldSelf", message: unchangeable(field) });
  }
  const required = Object.keys(fields).filter((name) => fields[name]?.presence === "required");
  const node: StructuralSchema = {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(options.open ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    ...(options.atomic ? { "x-kubernetes-map-type": "atomic" } : {}),
    ...(rules.length > 0 ? { "x-kubernetes-validations": rules } : {}),
  };
  return new Schema({ typeName: "object", node, children }, "required");
}

export interface ArrayLimits {
  minItems?: number;
  maxItems: number;
  /** The fields that tell items apart; server-side apply then merges item by item. */
  keys?: readonly string[];
  /** No value twice; server-side apply then merges value by value. */
  set?: boolean;
}

export function array<Out, In>(item: Schema<Out, In, Presence>, limits: ArrayLimits): Schema<Out[], In[]> {
  const { keys, set, ...sizes } = limits;
  const node: StructuralSchema = {
    type: "array",
    items: item.node,
    ...sizes,
    "x-kubernetes-list-type": keys ? "map" : set ? "set" : "atomic",
    ...(keys ? { "x-kubernetes-list-map-keys": [...keys] } : {}),
  };
  return new Schema({ typeName: `list of ${item.parts.typeName}`, node, children: { "[]": item } }, "required");
}

export interface MapLimits {
  minProperties?: number;
  maxProperties: number;
}

/** Values under names that the writer chooses. */
export function map<Out, In>(
  value: Schema<Out, In, Presence>,
  limits: MapLimits,
): Schema<Record<string, Out>, Record<string, In>> {
  const node: StructuralSchema = { type: "object", additionalProperties: value.node, ...limits };
  return new Schema({ typeName: `map of ${value.parts.typeName}`, node, children: { ".*": value } }, "required");
}

function writtenOnce(name: string, advice: string): ValidationRule {
  const field = celField(name);
  return {
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} == oldSelf.${field})`,
    message: `cannot be changed once set: ${advice}`,
    fieldPath: `.${name}`,
  };
}

function unchangeable(field: AnySchema): string {
  return `cannot be changed: ${field.parts.immutable}`;
}

const reserved = new Set(
  "as break const continue else for function if import in let loop namespace package return var void while".split(" "),
);

/** A field's name in CEL, where some words are reserved. */
export function celField(name: string): string {
  return reserved.has(name) ? `__${name}__` : name;
}
