import { finish, type Steps } from "../pace.ts";
import { parseJson, parseYamlSteps } from "../schema/body.ts";
import type { WrittenKeys } from "../schema/json-text.ts";
import { badRequest, StatusError } from "../status-error.ts";
import { isObject } from "./json-value.ts";
import type { PatchKind } from "./patch.ts";

/** A request's patch. */
export interface ReadPatch {
  readonly kind: PatchKind;
  readonly patch: unknown;
  /** What a strict reader would not take: fields that are there twice, parts of operations that there are not. */
  readonly strict: readonly string[];
}

/** JSON patches of more operations than this are refused. */
const MOST_OPERATIONS = 10_000;

/** Reads a patch's body. Throws StatusErrors (400, 413) with the real server's texts. */
export function readPatch(body: Uint8Array, kind: PatchKind): ReadPatch {
  return finish(readPatchSteps(body, kind));
}

export function* readPatchSteps(body: Uint8Array, kind: PatchKind): Steps<ReadPatch> {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  if (kind === "apply") return yield* readConfig(text);
  const before = kind === "strategic" ? "" : "error decoding patch: ";
  const { value, keys } = readJson(text, before);
  if (kind === "json") return { kind, patch: operationsOf(value, before), strict: operationComplaints(value, keys) };
  if (value === null && kind === "merge") throw badRequest("Invalid JSON Patch");
  if (value !== null && !isObject(value)) {
    throw badRequest(`${before}json: cannot unmarshal ${goName(value)} into Go value of type map[string]interface {}`);
  }
  return { kind, patch: value ?? {}, strict: duplicatesIn(value, keys, "") };
}

function readJson(text: string, before: string): { value: unknown; keys?: WrittenKeys } {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const { message } = error as Error;
    throw badRequest(`${before}${message.replace("couldn't get version/kind; json parse error: ", "")}`);
  }
}

function* readConfig(text: string): Steps<ReadPatch> {
  let parsed: { value: unknown; duplicates?: readonly string[] };
  try {
    parsed = (looksLikeJson(text) ? parseQuickly(text) : undefined) ?? (yield* parseYamlSteps(text));
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${(error as Error).message}`);
  }
  const { value, duplicates = [] } = parsed;
  if (value !== null && value !== undefined && !isObject(value)) {
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goName(value)} into Go value of type map[string]interface {}`,
    );
  }
  return { kind: "apply", patch: value ?? {}, strict: duplicates };
}

const looksLikeJson = (text: string): boolean => text.trimStart().startsWith("{");

/** Most send JSON, which is YAML too; only what is not quite that, undefined here, needs the other reader. */
function parseQuickly(text: string): { value: unknown; duplicates?: readonly string[] } | undefined {
  try {
    const { value, keys } = parseJson(text);
    if (keys === undefined || keys.size === 0) return { value };
  } catch (error) {
    if (error instanceof StatusError) throw error;
    // YAML's reader tells what is wrong with it, if anything is.
  }
  return undefined;
}

function operationsOf(value: unknown, before: string): unknown[] {
  const refuse = (sent: unknown, type: string) =>
    badRequest(`${before}json: cannot unmarshal ${goName(sent)} into Go value of type ${type}`);
  if (value === null) return [];
  if (!Array.isArray(value)) throw refuse(value, "[]handlers.jsonPatchOp");
  const strange = value.find((one) => one !== null && !isObject(one));
  if (strange !== undefined) throw refuse(strange, "handlers.jsonPatchOp");
  if (value.length > MOST_OPERATIONS) {
    throw badRequest(`The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${value.length}`);
  }
  return value;
}

function operationComplaints(value: unknown, keys: WrittenKeys | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((operation, index) => {
    if (!isObject(operation)) return [];
    const seen = new Set<string>();
    return (keys?.get(operation) ?? Object.keys(operation)).flatMap((key) => {
      const path = JSON.stringify(`[${index}].${key}`);
      if (seen.has(key)) return [`json patch duplicate field ${path}`];
      seen.add(key);
      return ["op", "path", "from", "value"].includes(key) ? [] : [`json patch unknown field ${path}`];
    });
  });
}

/** Objects come before what is below them. */
function duplicatesIn(value: unknown, keys: WrittenKeys | undefined, path: string): string[] {
  if (keys === undefined || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one, index) => duplicatesIn(one, keys, `${path}[${index}]`));
  const seen = new Set<string>();
  return (keys.get(value) ?? Object.keys(value)).flatMap((key) => {
    const below = path === "" ? key : `${path}.${key}`;
    if (seen.has(key)) return [`duplicate field ${JSON.stringify(below)}`];
    seen.add(key);
    return duplicatesIn((value as Record<string, unknown>)[key], keys, below);
  });
}

function goName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
