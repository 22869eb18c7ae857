import { createRequire } from "node:module";
import type { ScalarTag, Tags } from "yaml";
import { finish, type Steps } from "../pace.ts";
import { type StatusError, tooLarge } from "../status-error.ts";
import { JsonSyntaxError, parseJsonText, type WrittenKeys } from "./json-text.ts";
import { documentOf } from "./yaml-document.ts";
import { aliasesTooMuch, checkTokens } from "./yaml-limits.ts";

/** A request's body, read. */
export interface ParsedBody {
  readonly value: unknown;
  /** Where JSON had keys twice. */
  readonly keys?: WrittenKeys;
  /** The same for YAML, in its reader's words. */
  readonly duplicates?: readonly string[];
}

/** Whoever walks through an object needs a stack for it; nobody's are so deep. The real server takes ten times as many. */
const DEEPEST = 1_000;
/**
 * And so many values are in none, `managedFields` included: each costs time at every step of a write, during which
 * nobody else is answered. The largest definitions in use have half as many.
 */
const MOST_VALUES = 100_000;

export function tooManyValues(): StatusError {
  return tooLarge(`more than ${MOST_VALUES} values in one object`);
}

/** Whether a text of JSON has more values than an object may. What is short cannot. */
export function hasTooManyValues(text: string): boolean {
  if (text.length < 2 * MOST_VALUES) return false;
  try {
    countColons(text);
    return false;
  } catch {
    return true;
  }
}

/** Reads JSON. Throws an Error with the server's text. */
export function parseJson(text: string): ParsedBody {
  return finish(parseJsonSteps(text));
}

export function* parseJsonSteps(text: string): Steps<ParsedBody> {
  const colons = countColons(text);
  if (colons === undefined) throw new Error("couldn't get version/kind; json parse error: exceeded max depth");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    yield;
    return parseSlowly(text);
  }
  if (countKeys(value) === colons) return { value };
  yield;
  return parseJsonText(text);
}

function parseSlowly(text: string): ParsedBody {
  try {
    return parseJsonText(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw new Error(`couldn't get version/kind; json parse error: ${error.message}`);
    throw error;
  }
}

/**
 * As many colons as there are keys, if none was written twice; undefined: it is nested too deeply. Throws (413) where there
 * are too many values: each is behind a comma, or the first of what holds it.
 */
function countColons(text: string): number | undefined {
  let count = 0;
  let values = 0;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const one = text.charCodeAt(at);
    if (inString) {
      if (one === 0x5c) at++;
      else if (one === 0x22) inString = false;
    } else if (one === 0x22) inString = true;
    else if (one === 0x3a) count++;
    else if (one === 0x2c) values++;
    else if (one === 0x7b || one === 0x5b) {
      values++;
      if (++depth > DEEPEST) return undefined;
    } else if (one === 0x7d || one === 0x5d) depth--;
  }
  if (values > MOST_VALUES) throw tooManyValues();
  return count;
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const one of value) count += countKeys(one);
    return count;
  }
  for (const key of Object.keys(value)) count += 1 + countKeys((value as Record<string, unknown>)[key]);
  return count;
}

const BINARY = "tag:yaml.org,2002:binary";
const binary: ScalarTag = { tag: BINARY, resolve: (text) => Buffer.from(text, "base64").toString() };

/** Times, also those with colons alone, stay the text that they are, as they do in Go; so do bytes. */
const customTags = (tags: Tags): Tags => [
  ...tags.filter((tag) => {
    const { tag: name, format } = tag as ScalarTag;
    return name !== BINARY && name !== "tag:yaml.org,2002:timestamp" && format !== "TIME";
  }),
  binary,
];

/** Reads YAML as Kubernetes does: of version 1.1, its maps sorted, the last of two equal keys counting. */
export function parseYaml(text: string): ParsedBody {
  return finish(parseYamlSteps(text));
}

/** The same in parts: a large one takes a while. */
export function* parseYamlSteps(text: string): Steps<ParsedBody> {
  // Loaded when first needed: few clients send YAML.
  const yaml = createRequire(import.meta.url)("yaml") as typeof import("yaml");
  yield* checkTokens(text, DEEPEST, yaml);
  const lines = new yaml.LineCounter();
  const options = { version: "1.1", merge: true, uniqueKeys: false, lineCounter: lines, customTags } as const;
  const document = yield* documentOf(text, options, yaml);
  const [error] = document.errors;
  if (error !== undefined) {
    const line = lines.linePos(error.pos[0]).line || 1;
    throw new Error(`yaml: line ${line}: ${error.message}`);
  }
  yield;
  if (aliasesTooMuch(document, yaml)) throw new Error("yaml: document contains excessive aliasing");
  const duplicates: string[] = [];
  yaml.visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!yaml.isScalar(key)) continue;
        const name = String(key.value);
        const { line } = lines.linePos(key.range?.[0] ?? 0);
        if (seen.has(name)) duplicates.push(`line ${line}: key ${JSON.stringify(name)} already set in map`);
        seen.add(name);
      }
    },
  });
  yield;
  const value = document.toJS({ maxAliasCount: 100 });
  yield;
  if (isTooDeep(value, DEEPEST)) throw new Error("yaml: exceeded max depth");
  return { value: sorted(value), duplicates };
}

function isTooDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((one) => isTooDeep(one, left - 1));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}
