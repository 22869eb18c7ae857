import type { KubeObject } from "@fjord/base";
import { invalidField } from "../field-error.ts";
import { finish, type Steps } from "../pace.ts";
import { goText, sorted } from "../patch/json-value.ts";
import type { PatchKind } from "../patch/patch.ts";
import type { ReadPatch } from "../patch/read-patch.ts";
import { badRequest, invalid, StatusError } from "../status-error.ts";
import { type ParsedBody, parseJsonSteps, parseYamlSteps } from "./body.ts";
import type { GoTypes } from "./go-types.ts";
import type { Schema, Schemas } from "./schema.ts";
import { readTyped, readUnstructured } from "./typed-value.ts";

export type FieldValidation = "Strict" | "Warn" | "Ignore";

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface DecodeTarget {
  /** What the path asks for: a body that names neither version nor kind is taken for it. */
  readonly expected: GroupVersionKind;
  readonly schema: Schema;
  /** @default "Warn" */
  readonly fieldValidation?: FieldValidation;
}

export interface Decoded {
  readonly object: KubeObject;
  /** To be sent as Warning headers. */
  readonly warnings: readonly string[];
}

/** Reads objects of built-in kinds as the real server does, with its errors and warnings. One of these is enough. */
export class Decoder {
  readonly #schemas: Schemas;
  readonly #types: GoTypes;

  constructor(schemas: Schemas, types: GoTypes) {
    this.#schemas = schemas;
    this.#types = types;
  }

  /** `mediaType` without parameters. Throws StatusErrors: 400 for what cannot be read, 415 for what is no JSON or YAML. */
  decode(body: Uint8Array, mediaType: string, target: DecodeTarget): Decoded {
    return finish(this.decodeSteps(body, mediaType, target));
  }

  *decodeSteps(body: Uint8Array, mediaType: string, target: DecodeTarget): Steps<Decoded> {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
    let parsed: ParsedBody;
    try {
      parsed = yield* readerOf(mediaType)(text);
      checkHead(parsed.value);
    } catch (error) {
      if (error instanceof StatusError) throw error;
      const why = (error as Error).message;
      throw badRequest(
        `the object provided is unrecognized (must be of type ${target.expected.kind}): ${why} (${summary(text)})`,
      );
    }
    yield;
    return this.decodeParsed(parsed, target);
  }

  decodeParsed(parsed: ParsedBody, { expected, schema, fieldValidation = "Warn" }: DecodeTarget): Decoded {
    const value = (parsed.value ?? {}) as Record<string, unknown>;
    const sent = kindOf(value, expected);
    const refuse = (why: string) =>
      badRequest(
        `${sent.kind} in version ${JSON.stringify(sent.version)} cannot be handled as a ${expected.kind}: ${why}`,
      );
    const strange = this.#strangeKind(sent, expected);
    if (strange !== undefined) throw refuse(strange);
    const { group, version, kind } = expected;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    if (sent.version !== version) {
      throw badRequest(
        `the API version in the data (${value.apiVersion}) does not match the expected API version (${apiVersion})`,
      );
    }
    const { value: typed, error, strict } = readTyped(value, schema, this.#types, parsed.keys);
    if (error !== undefined) throw refuse(error);
    const object = Object.assign(keepReset(typed as KubeObject, value), { apiVersion, kind });
    if (fieldValidation === "Ignore") return { object, warnings: [] };
    const duplicates = parsed.duplicates ?? [];
    if (fieldValidation === "Warn") return { object, warnings: [...duplicates, ...strict] };
    const yaml = duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`];
    const all = [...yaml, ...strict];
    if (all.length > 0) throw refuse(`strict decoding error: ${all.join(", ")}`);
    return { object, warnings: [] };
  }

  /**
   * Reads again what a patch has made of an object: `value`. Throws StatusErrors that show the patch's result, or the
   * patch, as the real server does. Not for custom resources.
   */
  decodePatched(value: unknown, { kind, patch, strict }: ReadPatch, target: DecodeTarget): Decoded {
    const { expected, fieldValidation = "Warn" } = target;
    const refuse = (why: string) =>
      refusePatched(why, kind, kind === "strategic" ? goText(patch) : JSON.stringify(value), expected);
    if (kind === "apply" && fieldValidation === "Strict" && strict.length > 0) {
      throw badRequest(
        `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${strict.join("\n  ")}`,
      );
    }
    // A strategic merge is of the kind that the object is, whatever the patch says.
    const { group, version, kind: name } = expected;
    const head = { apiVersion: group === "" ? version : `${group}/${version}`, kind: name };
    const whole = kind === "strategic" ? { ...(value as object), ...head } : ((value ?? {}) as Record<string, unknown>);
    const strange = this.#strangeKind(kindOf(whole, expected), expected);
    if (strange !== undefined) throw refuse(strange);
    const read = kind === "json" || kind === "merge" ? readTyped : readUnstructured;
    // The server reads the result of the patch as it wrote it: in alphabetical order.
    const { value: typed, error, strict: unknown } = read(sorted(whole), target.schema, this.#types);
    if (error !== undefined) throw refuse(error);
    const all = fieldValidation === "Ignore" ? [] : [...strict, ...unknown];
    if (fieldValidation === "Strict" && all.length > 0) throw refuse(`strict decoding error: ${all.join(", ")}`);
    return { object: Object.assign(keepReset(typed as KubeObject, whole), head), warnings: all };
  }

  #strangeKind(sent: GroupVersionKind, expected: GroupVersionKind): string | undefined {
    if (sent.group === expected.group && sent.kind === expected.kind && sent.version === expected.version)
      return undefined;
    if (this.#schemas.of(sent) === undefined) {
      const version = sent.group === "" ? sent.version : `${sent.group}/${sent.version}`;
      return `no kind "${sent.kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`;
    }
    if (sent.group === expected.group && sent.kind === expected.kind) return undefined;
    const internal = expected.group === "" ? "core" : expected.group.split(".")[0];
    return `converting (${sent.version}.${sent.kind}) to (${internal}.${expected.kind}): unknown conversion`;
  }
}

function readerOf(mediaType: string): (text: string) => Steps<ParsedBody> {
  if (mediaType === "application/json" || mediaType === "") return parseJsonSteps;
  if (mediaType === "application/yaml") return parseYamlSteps;
  throw new StatusError(
    415,
    "UnsupportedMediaType",
    "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  );
}

const HEAD = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Version and kind are looked for before anything else. */
function checkHead(value: unknown): void {
  const parseError = (why: string) =>
    new Error(`couldn't get version/kind; json parse error: json: cannot unmarshal ${why}`);
  if (value === null || value === undefined) return;
  if (typeof value !== "object" || Array.isArray(value)) {
    throw parseError(`${goName(value)} into Go value of type ${HEAD}`);
  }
  const head = value as Record<string, unknown>;
  for (const field of ["apiVersion", "kind"]) {
    const part = head[field];
    if (part !== undefined && part !== null && typeof part !== "string") {
      throw parseError(`${goName(part)} into Go struct field .${field} of type string`);
    }
  }
  const { apiVersion } = head;
  if (typeof apiVersion === "string" && apiVersion.split("/").length > 2) {
    throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  }
}

function goName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function kindOf({ apiVersion, kind }: Record<string, unknown>, expected: GroupVersionKind): GroupVersionKind {
  const named = typeof kind === "string" && kind !== "" ? kind : expected.kind;
  if (typeof apiVersion !== "string" || apiVersion === "") return { ...expected, kind: named };
  const [first = "", second] = apiVersion.split("/");
  return second === undefined
    ? { group: "", version: first, kind: named }
    : { group: first, version: second, kind: named };
}

/** The beginning of a body that could not be read: as text if it looks like JSON, else in hexadecimal. */
function summary(text: string): string {
  if (text === "") return "<empty>";
  const bytes = Buffer.from(text);
  const start = bytes.subarray(0, 30);
  return `${start.toString(text.startsWith("{") ? "utf8" : "hex")}${bytes.length > 30 ? " ..." : ""}`;
}

/** An empty list of managers is a wish to forget them all, and so no empty field. */
function keepReset(object: KubeObject, sent: Record<string, unknown>): KubeObject {
  const { managedFields } = (sent.metadata ?? {}) as { managedFields?: unknown };
  if (Array.isArray(managedFields) && managedFields.length === 0) object.metadata.managedFields = [];
  return object;
}

/** The server's refusal of what a patch has made of an object; `shown`: that, or of a strategic merge the patch. */
export function refusePatched(why: string, kind: PatchKind, shown: string, of: GroupVersionKind): StatusError {
  if (kind !== "apply") return invalid({ group: "", kind: "" }, "", [invalidField("patch", shown, why)]);
  const named = `${of.group === "" ? "" : `${of.group}/`}${of.version}, Kind=${of.kind}`;
  return new StatusError(
    400,
    "",
    `failed to convert new object to proper version: unable to convert unstructured object to ${named}: ${why}`,
  );
}
