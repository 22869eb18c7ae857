import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { dataFile } from "../data-file.ts";
import type { Schema, Schemas } from "./schema.ts";

/**
 * A schema of the data file: `$` names a definition, the rest are what the place of use adds to it. The file is written
 * by tools/generate/kubernetes.
 */
interface FileSchema extends Omit<Schema, "properties" | "additionalProperties" | "items"> {
  readonly $?: string;
  readonly properties?: Readonly<Record<string, FileSchema>>;
  readonly additionalProperties?: FileSchema;
  readonly items?: FileSchema;
}

/** The schemas of Kubernetes' own kinds. Reads a file; each definition is made when a kind is first asked for. */
export function builtInSchemas(): Schemas {
  return new FileSchemas(gunzipSync(readFileSync(dataFile("schemas.gz"))).toString());
}

/** Definitions refer to each other, some to themselves: each is one object, there before its parts are. */
class FileSchemas implements Schemas {
  readonly #kinds: Map<string, string>;
  /** The text of those not yet made. */
  readonly #lines = new Map<string, string>();
  readonly #made = new Map<string, Record<string, unknown>>();
  /** Copies of definitions that can be made only when these are complete. */
  #copies: (() => void)[] = [];

  constructor(text: string) {
    const [kinds = "{}", ...lines] = text.trimEnd().split("\n");
    this.#kinds = new Map(Object.entries(JSON.parse(kinds)));
    for (const line of lines) {
      const tab = line.indexOf("\t");
      this.#lines.set(line.slice(0, tab), line.slice(tab + 1));
    }
  }

  of({ group, version, kind }: { group: string; version: string; kind: string }): Schema | undefined {
    const name = this.#kinds.get(`${group}/${version}/${kind}`);
    if (name === undefined) return undefined;
    const schema = this.#definition(name);
    const copies = this.#copies;
    this.#copies = [];
    for (const copy of copies) copy();
    return schema;
  }

  #definition(name: string): Schema {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const line = this.#lines.get(name);
    if (line === undefined) throw new TypeError(`no definition ${name} in the schemas' file`);
    this.#lines.delete(name);
    const schema: Record<string, unknown> = { name };
    this.#made.set(name, schema);
    return Object.assign(schema, this.#resolve(JSON.parse(line)));
  }

  #resolve({ $: reference, properties, additionalProperties, items, ...own }: FileSchema): Schema {
    if (reference !== undefined) {
      const definition = this.#definition(reference);
      if (Object.keys(own).length === 0) return definition;
      const copy = {};
      this.#copies.push(() => Object.assign(copy, definition, own));
      return copy;
    }
    return {
      ...own,
      ...(properties && {
        properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, this.#resolve(one)])),
      }),
      ...(additionalProperties && { additionalProperties: this.#resolve(additionalProperties) }),
      ...(items && { items: this.#resolve(items) }),
    };
  }
}
