import type { GoTypes } from "../schema/index.ts";
import { ProtobufReader } from "./protobuf-reader.ts";

export const PROTOBUF = "application/vnd.kubernetes.protobuf";

type Json = Record<string, unknown>;

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
/** Nobody's objects are so deep; what is would exhaust the stack. */
const DEEPEST = 100;

/** What Kubernetes' Go clients send: an envelope that names the kind, and the object as its Go type is encoded. */
export function readProtobuf(body: Buffer, types: GoTypes, byDefault: { apiVersion: string; kind: string }): Json {
  if (!body.subarray(0, 4).equals(MAGIC)) {
    throw new Error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  let { apiVersion, kind } = byDefault;
  let raw: Buffer = Buffer.alloc(0);
  const envelope = new ProtobufReader(body.subarray(4));
  for (let one = envelope.next(); one !== undefined; one = envelope.next()) {
    if (!Buffer.isBuffer(one.value)) continue;
    if (one.field === 1) ({ apiVersion, kind } = readTypeMeta(one.value, { apiVersion, kind }));
    else if (one.field === 2) raw = one.value;
  }
  const name = goNameOf(apiVersion, kind);
  if (types.get(name) === undefined) {
    throw new Error(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  }
  return { ...new ObjectReader(types).struct(raw, name, 0), apiVersion, kind };
}

/** `v1`, `Pod`: `core.v1.Pod`. */
function goNameOf(apiVersion: string, kind: string): string {
  const [first = "", second] = apiVersion.split("/");
  if (kind === "DeleteOptions") return "meta.v1.DeleteOptions";
  if (second === undefined) return `core.${first}.${kind}`;
  return `${first.split(".")[0]}.${second}.${kind}`;
}

function readTypeMeta(
  bytes: Buffer,
  known: { apiVersion: string; kind: string },
): { apiVersion: string; kind: string } {
  const meta = { ...known };
  const reader = new ProtobufReader(bytes);
  for (let one = reader.next(); one !== undefined; one = reader.next()) {
    if (!Buffer.isBuffer(one.value) || one.value.length === 0) continue;
    if (one.field === 1) meta.apiVersion = one.value.toString();
    else if (one.field === 2) meta.kind = one.value.toString();
  }
  return meta;
}

class ObjectReader {
  readonly #types: GoTypes;

  constructor(types: GoTypes) {
    this.#types = types;
  }

  struct(bytes: Buffer, name: string, depth: number): Json {
    if (depth > DEEPEST) throw new Error("proto: nested too deeply");
    const fields = this.#types.get(name);
    if (fields === undefined || typeof fields === "string") throw new Error(`proto: no type ${name}`);
    const object: Json = {};
    const reader = new ProtobufReader(bytes);
    for (let one = reader.next(); one !== undefined; one = reader.next()) {
      const { field, value, isFixed } = one;
      const known = fields.find(([, , number]) => number === field && number !== 0);
      if (known === undefined) continue;
      const [json, type] = known;
      // An embedded struct's fields are its holder's own.
      if (json === "") Object.assign(object, this.#value(type, value, isFixed, depth));
      else this.#put(object, json, type, value, isFixed, depth);
    }
    return object;
  }

  #put(object: Json, json: string, type: string, value: bigint | Buffer, isFixed: boolean, depth: number): void {
    const plain = type.replace(/^\*/, "");
    const below = listItems.has(plain) ? plain : this.#below(plain);
    if (below.startsWith("map[")) {
      const at = below.indexOf("]");
      const [key, entry] = this.#entry(value, below.slice(at + 1), depth);
      object[json] ??= {};
      const map = object[json] as Json;
      Object.defineProperty(map, key, { value: entry, enumerable: true, configurable: true, writable: true });
    } else if (below.startsWith("[]") && below !== "[]byte") {
      object[json] ??= [];
      const list = object[json] as unknown[];
      const item = below.slice(2);
      if (Buffer.isBuffer(value) && isNumber(this.#below(item.replace(/^\*/, ""))) && !isFixed) {
        // Packed.
        for (const one of packed(value)) list.push(this.#value(item, one, false, depth));
      } else list.push(this.#value(item, value, isFixed, depth));
    } else {
      const made = this.#value(type, value, isFixed, depth);
      // What has no pointer is always sent; in JSON its zero is left out.
      const isZero = made === "" || made === 0 || made === false || made === null || made === undefined;
      if (type.startsWith("*") ? made !== undefined : !isZero) object[json] = made;
    }
  }

  #entry(value: bigint | Buffer, type: string, depth: number): [string, unknown] {
    if (!Buffer.isBuffer(value)) throw new Error("proto: a map's entry is no message");
    let key = "";
    let entry: unknown;
    const reader = new ProtobufReader(value);
    for (let one = reader.next(); one !== undefined; one = reader.next()) {
      if (one.field === 1) key = Buffer.isBuffer(one.value) ? one.value.toString() : String(one.value);
      else if (one.field === 2) entry = this.#value(type, one.value, one.isFixed, depth);
    }
    return [key, entry ?? this.#value(type, Buffer.alloc(0), false, depth)];
  }

  /** What is below the names of types. */
  #below(type: string): string {
    let below = type;
    for (;;) {
      const next = this.#types.get(below);
      if (typeof next !== "string") return below;
      below = next.replace(/^\*/, "");
    }
  }

  #value(type: string, value: bigint | Buffer, isFixed: boolean, depth: number): unknown {
    const plain = type.replace(/^\*/, "");
    if (listItems.has(plain)) return this.#items(bytesOf(value));
    const special = specials[plain];
    if (special !== undefined) return special(bytesOf(value), (name, bytes) => this.struct(bytes, name, depth + 1));
    const below = this.#below(plain);
    if (below === "string") return bytesOf(value).toString();
    if (below === "[]byte") return bytesOf(value).toString("base64");
    if (below === "bool") return value !== 0n && !(Buffer.isBuffer(value) && value.length === 0);
    if (below === "float64") return Buffer.isBuffer(value) && isFixed ? value.readDoubleLE() : 0;
    if (isNumber(below)) return Buffer.isBuffer(value) ? 0 : Number(BigInt.asIntN(64, value));
    const fields = this.#types.get(below);
    if (Array.isArray(fields)) return this.struct(bytesOf(value), below, depth + 1);
    // Structs without fields are not in the data.
    if (fields === undefined && Buffer.isBuffer(value)) return {};
    throw new Error(`proto: cannot read ${type}`);
  }

  #items(bytes: Buffer): string[] {
    const items: string[] = [];
    const reader = new ProtobufReader(bytes);
    for (let one = reader.next(); one !== undefined; one = reader.next()) {
      if (one.field === 1 && Buffer.isBuffer(one.value)) items.push(one.value.toString());
    }
    return items;
  }
}

/** Lists that are messages of their own. */
const listItems = new Set([
  "meta.v1.Verbs",
  "authentication.v1.ExtraValue",
  "authorization.v1.ExtraValue",
  "certificates.v1.ExtraValue",
]);

const isNumber = (type: string) => /^u?int(32|64)?$/.test(type);

function* packed(bytes: Buffer): Generator<bigint> {
  // As fields without their numbers: each is put behind one.
  let start = 0;
  for (let at = 0; at < bytes.length; at++) {
    if ((bytes[at] as number) >= 0x80) continue;
    const one = new ProtobufReader(Buffer.concat([Buffer.from([8]), bytes.subarray(start, at + 1)])).next();
    if (typeof one?.value === "bigint") yield one.value;
    start = at + 1;
  }
}

function bytesOf(value: bigint | Buffer): Buffer {
  if (!Buffer.isBuffer(value)) throw new Error("proto: wrong wireType");
  return value;
}

/** The fields of a message by number, for the few that have a form of their own in JSON. */
function fieldsOf(bytes: Buffer): Map<number, bigint | Buffer> {
  const fields = new Map<number, bigint | Buffer>();
  const reader = new ProtobufReader(bytes);
  for (let one = reader.next(); one !== undefined; one = reader.next()) fields.set(one.field, one.value);
  return fields;
}

type StructReader = (name: string, bytes: Buffer) => Json;
type Special = (bytes: Buffer, struct: StructReader) => unknown;

const text = (value: bigint | Buffer | undefined) => (Buffer.isBuffer(value) ? value.toString() : "");
const whole = (value: bigint | Buffer | undefined) => (typeof value === "bigint" ? BigInt.asIntN(64, value) : 0n);

function time(bytes: Buffer, digits: number): string | null {
  const fields = fieldsOf(bytes);
  const seconds = whole(fields.get(1));
  if (fields.size === 0 || seconds < -62_135_596_800n || seconds > 253_402_300_799n) return null;
  const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  if (digits === 0) return `${date}Z`;
  return `${date}.${String(Number(whole(fields.get(2))) / 1000)
    .padStart(digits, "0")
    .slice(0, digits)}Z`;
}

/** Any JSON, as its text. */
function raw(bytes: Buffer): unknown {
  const content = fieldsOf(bytes).get(1);
  return Buffer.isBuffer(content) && content.length > 0 ? JSON.parse(content.toString()) : undefined;
}

function duration(nanoseconds: bigint): string {
  const seconds = Number(nanoseconds) / 1e9;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return `${hours}h${minutes}m${seconds - hours * 3600 - minutes * 60}s`;
}

const PROPS = "apiextensions.v1.JSONSchemaProps";

const specials: Record<string, Special | undefined> = {
  "meta.v1.Time": (bytes) => time(bytes, 0),
  "meta.v1.MicroTime": (bytes) => time(bytes, 6),
  "meta.v1.Duration": (bytes) => duration(whole(fieldsOf(bytes).get(1))),
  "api.resource.Quantity": (bytes) => text(fieldsOf(bytes).get(1)) || "0",
  "util.intstr.IntOrString": (bytes) => {
    const fields = fieldsOf(bytes);
    return whole(fields.get(1)) === 1n ? text(fields.get(3)) : Number(BigInt.asIntN(32, whole(fields.get(2))));
  },
  "runtime.RawExtension": raw,
  "meta.v1.FieldsV1": raw,
  "apiextensions.v1.JSON": raw,
  "apiextensions.v1.JSONSchemaPropsOrBool": (bytes, struct) => {
    const fields = fieldsOf(bytes);
    const schema = fields.get(2);
    return Buffer.isBuffer(schema) ? struct(PROPS, schema) : whole(fields.get(1)) !== 0n;
  },
  "apiextensions.v1.JSONSchemaPropsOrArray": (bytes, struct) => {
    const schema = fieldsOf(bytes).get(1);
    if (Buffer.isBuffer(schema)) return struct(PROPS, schema);
    return all(bytes, 2).map((one) => struct(PROPS, one));
  },
  "apiextensions.v1.JSONSchemaPropsOrStringArray": (bytes, struct) => {
    const schema = fieldsOf(bytes).get(1);
    if (Buffer.isBuffer(schema)) return struct(PROPS, schema);
    return all(bytes, 2).map((one) => one.toString());
  },
};

function all(bytes: Buffer, field: number): Buffer[] {
  const found: Buffer[] = [];
  const reader = new ProtobufReader(bytes);
  for (let one = reader.next(); one !== undefined; one = reader.next()) {
    if (one.field === field && Buffer.isBuffer(one.value)) found.push(one.value);
  }
  return found;
}
