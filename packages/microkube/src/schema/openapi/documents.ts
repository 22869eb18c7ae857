import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { constants, gunzip, gunzipSync, gzip, gzipSync } from "node:zlib";
import { dataFile } from "../../data-file.ts";
import { definitionsOf, pathsOf, type Sample } from "./custom-definitions.ts";
import type { CustomKind } from "./custom-kind.ts";
import { swaggerProtobuf } from "./swagger-protobuf.ts";

/** A document, mostly JSON, as it lies in the data files: most clients take it so, without it ever being unpacked here. */
export interface OpenApiAnswer {
  readonly gzip: Buffer;
  /** With its quotes. */
  readonly etag: string;
}

/**
 * The OpenAPI documents of built-in and custom kinds. Nothing is read before it is asked for, and nothing is kept but
 * the whole document (v2) while the custom kinds stay the same: `custom` gives the same array as long as they do.
 */
export class OpenApiDocuments {
  readonly #custom: () => readonly CustomKind[];
  #index: Record<string, string> | undefined;
  #whole: { of: readonly CustomKind[]; answer: Promise<OpenApiAnswer> } | undefined;
  #binary: { of: readonly CustomKind[]; answer: Promise<OpenApiAnswer> } | undefined;

  constructor(custom: () => readonly CustomKind[] = () => none) {
    this.#custom = custom;
  }

  /** `/openapi/v2`. */
  v2(): Promise<OpenApiAnswer> {
    const custom = this.#custom();
    if (this.#whole?.of !== custom) this.#whole = { of: custom, answer: wholeDocument(custom) };
    return this.#whole.answer;
  }

  /** The same in its binary form. */
  v2Protobuf(): Promise<OpenApiAnswer> {
    const custom = this.#custom();
    if (this.#binary?.of !== custom) this.#binary = { of: custom, answer: binaryDocument(custom) };
    return this.#binary.answer;
  }

  /** `/openapi/v3`: where each group's document is. */
  v3Index(): { paths: Record<string, { serverRelativeURL: string }> } {
    this.#index ??= JSON.parse(readFileSync(dataFile("openapi/index.json"), "utf8")) as Record<string, string>;
    const hashes = { ...this.#index };
    for (const [path, kinds] of byPath(this.#custom())) {
      hashes[path] = hashOf(JSON.stringify(kinds));
      const group = path.slice(0, path.lastIndexOf("/"));
      hashes[group] ??= hashOf(group);
    }
    const paths = Object.entries(hashes).sort(([one], [other]) => (one < other ? -1 : 1));
    return {
      paths: Object.fromEntries(
        paths.map(([path, hash]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]),
      ),
    };
  }

  /** `/openapi/v3/{path}`: `apis/apps/v1`; undefined if there is no such document. */
  v3(path: string): OpenApiAnswer | undefined {
    this.#index ??= JSON.parse(readFileSync(dataFile("openapi/index.json"), "utf8")) as Record<string, string>;
    const hash = Object.hasOwn(this.#index, path) ? this.#index[path] : undefined;
    if (hash !== undefined) return { gzip: readData(`${path.replaceAll("/", "__")}.json.gz`), etag: `"${hash}"` };
    const kinds = byPath(this.#custom()).get(path);
    return kinds === undefined ? undefined : customDocument(kinds);
  }
}

const none: readonly CustomKind[] = [];

function byPath(custom: readonly CustomKind[]): Map<string, CustomKind[]> {
  return Map.groupBy(custom, ({ group, version }) => `apis/${group}/${version}`);
}

function readData(name: string): Buffer {
  return readFileSync(dataFile(`openapi/${name}`));
}

function sample(): Sample {
  return JSON.parse(gunzipSync(readData("custom.json.gz")).toString());
}

function customDocument(kinds: readonly CustomKind[]): OpenApiAnswer {
  const known = sample();
  const own = kinds.map((kind) => definitionsOf(kind, known, "v3"));
  const document = {
    openapi: "3.0.0",
    info: known.info,
    paths: Object.assign({}, ...kinds.map((kind) => pathsOf(kind, known, "v3"))),
    components: { schemas: Object.assign({}, known.schemas, ...own) },
  };
  const text = JSON.stringify(document);
  return { gzip: gzipSync(text), etag: `"${hashOf(text)}"` };
}

const unpack = promisify(gunzip);
const pack = promisify(gzip);

/**
 * Custom kinds are put into the text: to parse two megabytes for them would cost more memory than it saves. Clients ask
 * again after every change of them, so what takes long is done beside the event loop.
 */
async function wholeDocument(custom: readonly CustomKind[]): Promise<OpenApiAnswer> {
  const packed = await readFile(dataFile("openapi/v2.json.gz"));
  if (custom.length === 0) return { gzip: packed, etag: `"${hashOf(packed)}"` };
  const known = sample();
  const inner = (parts: readonly Record<string, unknown>[]) => JSON.stringify(Object.assign({}, ...parts)).slice(1, -1);
  const definitions = inner(custom.map((kind) => definitionsOf(kind, known, "v2")));
  const paths = inner(custom.map((kind) => pathsOf(kind, known, "v2")));
  const text: Buffer = await unpack(packed);
  const atDefinitions = text.indexOf('"definitions":{') + '"definitions":{'.length;
  const atPaths = text.lastIndexOf('"paths":{"/') + '"paths":{'.length;
  const whole = Buffer.concat([
    text.subarray(0, atDefinitions),
    Buffer.from(`${definitions},`),
    text.subarray(atDefinitions, atPaths),
    Buffer.from(`${paths},`),
    text.subarray(atPaths),
  ]);
  const etag = `"${hashOf(`${hashOf(packed)} ${definitions} ${paths}`)}"`;
  return { gzip: await pack(whole, { level: constants.Z_BEST_SPEED }), etag };
}

/** Messages one after the other are one, and so are packed files: nothing is unpacked. */
async function binaryDocument(custom: readonly CustomKind[]): Promise<OpenApiAnswer> {
  const packed = await readFile(dataFile("openapi/v2.pb.gz"));
  if (custom.length === 0) return { gzip: packed, etag: `"${hashOf(packed)}"` };
  const known = sample();
  const own = swaggerProtobuf({
    definitions: Object.assign({}, ...custom.map((kind) => definitionsOf(kind, known, "v2"))),
    paths: Object.assign({}, ...custom.map((kind) => pathsOf(kind, known, "v2"))),
  });
  const whole = Buffer.concat([packed, await pack(own, { level: constants.Z_BEST_SPEED })]);
  return { gzip: whole, etag: `"${hashOf(whole)}"` };
}

function hashOf(content: string | Buffer): string {
  return createHash("sha512").update(content).digest("hex").toUpperCase();
}
