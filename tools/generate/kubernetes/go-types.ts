import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PREFIXES, shortName } from "./compact-schema.ts";

/** A field of a Go struct. `json` is empty for an embedded struct, whose fields JSON shows as the outer one's. */
export interface GoField {
  readonly json: string;
  /** `*[]core.v1.Container`: as in Go, with the names of the data files. */
  readonly type: string;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  /** The number in Protocol Buffers; 0 where there is none. */
  readonly number: number;
}

/** What a Go type is made of: fields, or the type below its name. */
export type GoType = readonly GoField[] | string;

const BASIC = new Set([
  "string",
  "bool",
  "byte",
  "int",
  "int32",
  "int64",
  "uint32",
  "uint64",
  "float64",
  "float32",
  "any",
]);

/** Kubernetes' Go types by the data files' names, read from the modules' sources as far as they are asked for. */
export class GoTypes {
  readonly #modules: string;
  readonly #version: string;
  readonly #packages = new Map<string, Map<string, GoType>>();

  /** `modules`: Go's module cache; `version`: that of the libraries, `v0.36.3`. */
  constructor(modules: string, version: string) {
    this.#modules = modules;
    this.#version = version;
  }

  /** By the name of an OpenAPI definition: `io.k8s.api.core.v1.Pod`. */
  get(definition: string): GoType | undefined {
    const dot = definition.lastIndexOf(".");
    const path = `k8s.io/${definition.slice("io.k8s.".length, dot).replaceAll(".", "/")}`;
    return this.#package(path).get(definition.slice(dot + 1));
  }

  /** By a name of the data files: `core.v1.Pod`. */
  named(name: string): GoType | undefined {
    for (const prefix of PREFIXES) {
      const type = this.get(prefix + name);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  /** What is below a type's names: `string` of `core.v1.Protocol`; a struct is its own. */
  underlying(type: string): string {
    const named = this.named(type);
    return typeof named === "string" ? this.underlying(named) : type;
  }

  #package(path: string): Map<string, GoType> {
    const known = this.#packages.get(path);
    if (known !== undefined) return known;
    const [host, module, ...rest] = path.split("/");
    const folder = join(this.#modules, `${host}/${module}@${this.#version}`, ...rest);
    const types = new Map<string, GoType>();
    this.#packages.set(path, types);
    if (rest.length === 0 || !existsSync(folder)) return types;
    const isSource = (name: string) => name.endsWith(".go") && !/_test\.go$|^zz_generated|\.pb\.go$/.test(name);
    for (const name of readdirSync(folder).filter(isSource)) {
      for (const [type, made] of typesIn(readFileSync(join(folder, name), "utf8"), path)) types.set(type, made);
    }
    return types;
  }
}

export function typesIn(source: string, path: string): Map<string, GoType> {
  const imports = importsIn(source);
  const types = new Map<string, GoType>();
  const lines = source.replace(/\/\*[\s\S]*?\*\//g, "").split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? "").replace(/\/\/.*$/, "").trimEnd();
    const struct = /^type (\w+) struct \{$/.exec(line)?.[1];
    if (struct !== undefined) {
      const fields: GoField[] = [];
      for (at++; lines[at] !== "}"; at++) fields.push(...fieldIn(lines[at] ?? "", imports, path));
      types.set(struct, fields);
      continue;
    }
    const [, name, type] = /^type (\w+) =? ?([\w.[\]*]+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) types.set(name, qualify(type, imports, path));
  }
  return types;
}

function importsIn(source: string): Map<string, string> {
  const block = /^import \(([\s\S]*?)^\)/m.exec(source)?.[1] ?? "";
  const alone = [...source.matchAll(/^import (.*)$/gm)].map(([, one]) => one);
  const imports = new Map<string, string>();
  for (const [, alias, path = ""] of [block, ...alone].join("\n").matchAll(/^\s*(\w+)?\s*"([^"]+)"/gm)) {
    imports.set(alias ?? path.slice(path.lastIndexOf("/") + 1), path);
  }
  return imports;
}

function fieldIn(line: string, imports: Map<string, string>, path: string): GoField[] {
  const [, type, tags = ""] = /^\s+(?:\w+\s+)?([\w.[\]*]+)\s+`([^`]*)`/.exec(line) ?? [];
  const json = /json:"([^"]*)"/.exec(tags)?.[1];
  if (type === undefined || json === undefined || json === "-") return [];
  const [name = "", ...options] = json.split(",");
  if (name === "" && /TypeMeta$/.test(type)) {
    const text = { type: "string", omitEmpty: true, omitZero: false, number: 0 };
    return [
      { json: "kind", ...text },
      { json: "apiVersion", ...text },
    ];
  }
  return [
    {
      json: name,
      type: qualify(type, imports, path),
      omitEmpty: options.includes("omitempty"),
      omitZero: options.includes("omitzero"),
      number: Number(/protobuf:"\w+,(\d+)/.exec(tags)?.[1] ?? 0),
    },
  ];
}

/** `[]metav1.Condition` becomes `[]meta.v1.Condition`, `Container` in package core/v1 `core.v1.Container`. */
function qualify(type: string, imports: Map<string, string>, path: string): string {
  return type.replace(/(\w+\.)?(\w+)/g, (_, prefix: string | undefined, name: string) => {
    if (prefix === undefined) return BASIC.has(name) || name === "map" ? name : nameIn(path, name);
    return nameIn(imports.get(prefix.slice(0, -1)) ?? prefix, name);
  });
}

function nameIn(path: string, name: string): string {
  return shortName(`${path.replace(/^k8s\.io\//, "io.k8s.").replaceAll("/", ".")}.${name}`);
}
