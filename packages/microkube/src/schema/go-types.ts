import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { dataFile } from "../data-file.ts";

/** A field of a Go struct: its name in JSON (empty: an embedded struct), its type, its number in Protocol Buffers. */
export type GoField = readonly [json: string, type: string, number: number];

/** Kubernetes' Go types, for what is said in their words or sent in their form. Reads a file when first asked. */
export class GoTypes {
  #lines: Map<string, string> | undefined;
  readonly #made = new Map<string, readonly GoField[] | string>();

  /** A struct's fields, or the type below a name; undefined for what is no name of a type. */
  get(name: string): readonly GoField[] | string | undefined {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    this.#lines ??= readLines();
    const line = this.#lines.get(name);
    if (line === undefined) return undefined;
    const type = JSON.parse(line) as readonly GoField[] | string;
    this.#made.set(name, type);
    return type;
  }

  /** The type of a struct's field, and through which embedded structs it is one. */
  field(struct: string, json: string): { type: string; through: readonly string[] } | undefined {
    const fields = this.get(struct);
    if (fields === undefined || typeof fields === "string") return undefined;
    for (const [name, type] of fields) {
      if (name === json) return { type, through: [] };
      const inner = name === "" ? this.field(type, json) : undefined;
      if (inner !== undefined) return { type: inner.type, through: [lastOf(type), ...inner.through] };
    }
    return undefined;
  }

  /** What a list's or map's values are, without its name and pointers. */
  element(type: string): string {
    const plain = type.replace(/^\*/, "");
    const below = this.get(plain);
    if (typeof below === "string") return this.element(below);
    return plain.replace(/^(\[\]|map\[[^\]]*\])/, "");
  }
}

/** `[]core.v1.Container` as Go prints it: `[]v1.Container`. */
export function printedType(type: string): string {
  return type
    .replace(/^\*/, "")
    .replace(/\bbyte\b/, "uint8")
    .replace(/(?:\w+\.)*(\w+\.\w+)/g, "$1");
}

/** `Container` of `core.v1.Container`. */
export function lastOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function readLines(): Map<string, string> {
  const text = gunzipSync(readFileSync(dataFile("types.gz"))).toString();
  const lines = new Map<string, string>();
  for (const line of text.trimEnd().split("\n")) {
    const tab = line.indexOf("\t");
    lines.set(line.slice(0, tab), line.slice(tab + 1));
  }
  return lines;
}
