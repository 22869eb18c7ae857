import type { GoTypes } from "./go-types.ts";
import { lastOf, printedType } from "./go-types.ts";
import type { WrittenKeys } from "./json-text.ts";
import { canonicalScalar, WrongType } from "./scalar.ts";
import type { Schema } from "./schema.ts";

export interface TypedValue {
  /** As Kubernetes' own types have it: unknown fields are gone, and empty ones where these types leave them out. */
  readonly value: unknown;
  /** The first thing that is not of its type, in the server's words. */
  readonly error?: string;
  /** What a strict reader would not take: unknown and duplicate fields. */
  readonly strict: readonly string[];
}

/** Reads a value as Kubernetes reads JSON into its own types. `keys` tells of duplicates, where there are some. */
export function readTyped(value: unknown, schema: Schema, types: GoTypes, keys?: WrittenKeys): TypedValue {
  return readBy(new TypedReader(types, keys), value, schema);
}

/** The same, with the words that the server has for a value that was JSON no more when it was found to be wrong. */
export function readUnstructured(value: unknown, schema: Schema, types: GoTypes): TypedValue {
  return readBy(new UnstructuredReader(types, undefined), value, schema);
}

function readBy(reader: TypedReader, value: unknown, schema: Schema): TypedValue {
  const typed = reader.read(value, schema);
  return { value: typed, strict: [...reader.strict], ...(reader.error !== undefined && { error: reader.error }) };
}

type JsonObject = Record<string, unknown>;

/** Kubernetes tells no more of them. */
const MOST_STRICT = 100;

class TypedReader {
  readonly strict = new Set<string>();
  error: string | undefined;
  readonly #types: GoTypes;
  readonly #keys: WrittenKeys | undefined;
  /** Where the reader is: names of fields, keys, indexes. */
  readonly #path: (string | number)[] = [];
  /** The structs that it is in, and in which field of each; `depth`: in how many lists and maps below that field. */
  readonly #frames: { struct: string; field: string; depth: number }[] = [];

  constructor(types: GoTypes, keys: WrittenKeys | undefined) {
    this.#types = types;
    this.#keys = keys;
  }

  /** Null is read as if nothing was there: undefined, or what the type begins with. */
  read(value: unknown, schema: Schema): unknown {
    if (schema.type === "any" || schema.preserveUnknown) return value === null ? undefined : value;
    if (value === null || value === undefined) return undefined;
    if (schema.type === "array") return this.#list(value, schema);
    if (schema.additionalProperties !== undefined) return this.#map(value, schema);
    if (schema.type === "object") return this.#struct(value, schema);
    try {
      return canonicalScalar(value, schema);
    } catch (error) {
      if (error instanceof WrongType) this.#wrong(error, value, schema);
      else this.error ??= (error as Error).message;
      return undefined;
    }
  }

  #struct(value: unknown, schema: Schema): unknown {
    if (!isObject(value)) return this.#wrong(new WrongType(value), value, schema);
    const properties = schema.properties ?? {};
    const result: JsonObject = {};
    const frame = { struct: schema.name ?? "", field: "", depth: 0 };
    this.#frames.push(frame);
    const seen = this.#keys?.has(value) ? new Set<string>() : undefined;
    for (const key of this.#keys?.get(value) ?? Object.keys(value)) {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      this.#path.push(key);
      if (property === undefined) this.#tell("unknown field");
      else if (seen?.has(key)) this.#tell("duplicate field");
      else {
        frame.field = key;
        setField(result, key, this.read(value[key], property), property);
      }
      seen?.add(key);
      this.#path.pop();
    }
    this.#frames.pop();
    return result;
  }

  #map(value: unknown, of: Schema): unknown {
    if (!isObject(value)) return this.#wrong(new WrongType(value), value, of);
    const schema = of.additionalProperties ?? {};
    const result: JsonObject = {};
    this.#deeper(1);
    const seen = this.#keys?.has(value) ? new Set<string>() : undefined;
    for (const key of this.#keys?.get(value) ?? Object.keys(value)) {
      this.#path.push(key);
      if (seen?.has(key)) this.#tell("duplicate field");
      seen?.add(key);
      put(result, key, this.read(value[key], schema) ?? zeroOf(schema));
      this.#path.pop();
    }
    this.#deeper(-1);
    return result;
  }

  #list(value: unknown, schema: Schema): unknown {
    if (!Array.isArray(value)) return this.#wrong(new WrongType(value), value, schema);
    const { items = {} } = schema;
    this.#deeper(1);
    const result = value.map((one, index) => {
      this.#path.push(index);
      const read = this.read(one, items) ?? zeroOf(items);
      this.#path.pop();
      return read;
    });
    this.#deeper(-1);
    return result;
  }

  #deeper(by: 1 | -1): void {
    const frame = this.#frames.at(-1);
    if (frame !== undefined) frame.depth += by;
  }

  #tell(what: string): void {
    if (this.strict.size >= MOST_STRICT) return;
    const path = this.#path.reduce<string>((text, part) => {
      if (typeof part === "number") return `${text}[${part}]`;
      return text === "" ? part : `${text}.${part}`;
    }, "");
    this.strict.add(`${what} ${JSON.stringify(path)}`);
  }

  /** Only the first counts. */
  #wrong(error: WrongType, value: unknown, schema: Schema): undefined {
    this.error ??= this.complaint(error, value, schema);
  }

  protected complaint({ sent, wanted }: WrongType, _value: unknown, _schema: Schema): string {
    const steps = this.#frames.flatMap(({ struct, field }) => [
      ...(this.#types.field(struct, field)?.through ?? []),
      field,
    ]);
    const { struct = "", field = "", depth = 0 } = this.#frames.at(-1) ?? {};
    let type = this.#types.field(struct, field)?.type ?? "";
    for (let step = 0; step < depth; step++) type = this.#types.element(type);
    const place = `${lastOf(struct)}.${steps.join(".")}`;
    return `json: cannot unmarshal ${sent} into Go struct field ${place} of type ${wanted ?? printedType(type)}`;
  }
}

class UnstructuredReader extends TypedReader {
  protected override complaint(error: WrongType, value: unknown, schema: Schema): string {
    const { type, format, additionalProperties } = schema;
    const sent = goKind(value);
    if (type === "array") return `cannot restore slice from ${sent}`;
    if (additionalProperties !== undefined) return `cannot restore map from ${sent}`;
    if (type === "object") return `cannot restore struct from: ${sent}`;
    if (error.wanted !== undefined) return `json: cannot unmarshal ${error.sent} into Go value of type ${error.wanted}`;
    const wanted = type === "integer" ? (format ?? "int64") : type === "boolean" ? "bool" : (type ?? "");
    return sent === "string" ? `unrecognized type: ${wanted}` : `cannot convert ${sent} to ${wanted}`;
  }
}

function goKind(value: unknown): string {
  if (Array.isArray(value)) return "slice";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "object" ? "map" : typeof value === "boolean" ? "bool" : typeof value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function setField(result: JsonObject, key: string, value: unknown, schema: Schema): void {
  if (value !== undefined && !(schema.empty === "dropped" && isLeftOut(value, schema))) put(result, key, value);
}

function put(result: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true });
  else result[key] = value;
}

/** Whether a field has a value that Kubernetes' own types do not write. */
export function isLeftOut(value: unknown, { empty, type, additionalProperties }: Schema): boolean {
  if (empty === undefined || empty === "written") return false;
  if (type !== "array" && additionalProperties === undefined) {
    return empty === "dropped" && (value === "" || value === 0 || value === false);
  }
  for (const _ in value as object) return false;
  return true;
}

/** What a value of a type begins with. */
export function zeroOf({ type, format, additionalProperties, preserveUnknown }: Schema): unknown {
  if (type === "string") return format === "date-time" || format === "micro-time" ? null : "";
  if (type === "integer" || type === "number") return 0;
  if (type === "boolean") return false;
  if (type === "int-or-string") return format === "quantity" ? "0" : 0;
  return type !== "object" || additionalProperties !== undefined || preserveUnknown ? null : {};
}
