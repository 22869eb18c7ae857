import type { KubeObject } from "@fjord/base";
import type { ResourceType } from "../kinds/resource-type.ts";
import type { Steps } from "../pace.ts";
import type { ReadPatch } from "../patch/index.ts";
import { sorted } from "../patch/json-value.ts";
import {
  type Decoder,
  type FieldValidation,
  type GoTypes,
  type ParsedBody,
  parseJson,
  parseJsonSteps,
  parseYaml,
  parseYamlSteps,
  refusePatched,
  type Schema,
} from "../schema/index.ts";
import { badRequest, StatusError } from "../status-error.ts";
import { contentType, unsupportedMediaType } from "./media-type.ts";
import { metadataProblem } from "./metadata-problem.ts";
import { PROTOBUF, readProtobuf } from "./protobuf-object.ts";

export interface ExpectedObject {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What bodies are read with. */
export interface BodyMeans {
  readonly decoder: Decoder;
  readonly goTypes: GoTypes;
}

export interface ReadAs {
  readonly expected: ExpectedObject;
  readonly schema: Schema | undefined;
  readonly fieldValidation: FieldValidation;
  /** By a schema of its own. */
  readonly read?: ResourceType["read"];
}

/** Reads a request's object, with what its schema says of it. */
export function* readObject(
  { decoder, goTypes }: BodyMeans,
  body: Buffer,
  header: string | undefined,
  of: ReadAs,
  warn: (text: string) => void,
): Steps<KubeObject> {
  const { expected, schema, fieldValidation } = of;
  const type = contentType(header);
  if (type === PROTOBUF) {
    const value = fromProtobuf(body, goTypes, expected);
    if (schema === undefined) return withMetadata(value, expected);
    return withMetadata(
      decoder.decodeParsed({ value }, { expected, schema, fieldValidation: "Ignore" }).object,
      expected,
    );
  }
  if (of.read !== undefined) {
    const parsed = yield* parsePlain(body, type);
    yield;
    checkHead(parsed.value, expected);
    return readCustom(parsed, { ...of, read: of.read }, warn);
  }
  if (schema === undefined) return withMetadata((yield* parsePlain(body, type)).value, expected);
  const { object, warnings } = yield* decoder.decodeSteps(body, type, { expected, schema, fieldValidation });
  for (const text of warnings) warn(text);
  return withMetadata(object, expected);
}

/** Checks again what a patch has made of an object. */
export function readPatched(
  decoder: Decoder,
  value: KubeObject,
  patch: ReadPatch,
  of: ReadAs,
  warn: (text: string) => void,
): KubeObject {
  const { expected, schema, fieldValidation } = of;
  if (of.read !== undefined) return readPatchedCustom(value, patch, { ...of, read: of.read }, warn);
  if (schema === undefined) return withMetadata(value, expected);
  const { object, warnings } = decoder.decodePatched(value, patch, { expected, schema, fieldValidation });
  for (const text of warnings) warn(text);
  return withMetadata(object, expected);
}

function fromProtobuf(body: Buffer, types: GoTypes, { group, version, kind }: ExpectedObject): Record<string, unknown> {
  try {
    return readProtobuf(body, types, { apiVersion: group === "" ? version : `${group}/${version}`, kind });
  } catch (error) {
    throw badRequest((error as Error).message);
  }
}

/** What a custom resource's own schema makes of a body. */
function readCustom(
  { value, keys, duplicates = [] }: ParsedBody,
  { expected, schema, fieldValidation, read }: ReadAs & { readonly read: NonNullable<ResourceType["read"]> },
  warn: (text: string) => void,
): KubeObject {
  const { value: pruned, strict } = read(value, expected.version, keys);
  checkMetadata(pruned, schema, expected);
  const yaml = duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`];
  if (fieldValidation === "Strict" && yaml.length + strict.length > 0) {
    const { kind, version } = expected;
    const why = `strict decoding error: ${[...yaml, ...strict].join(", ")}`;
    throw badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`);
  }
  if (fieldValidation === "Warn") for (const text of [...duplicates, ...strict]) warn(text);
  return withMetadata(pruned, expected);
}

/** What a custom resource's own schema makes of what a patch has made of it. */
function readPatchedCustom(
  value: KubeObject,
  { kind, strict: complaints }: ReadPatch,
  { expected, schema, fieldValidation, read }: ReadAs & { readonly read: NonNullable<ResourceType["read"]> },
  warn: (text: string) => void,
): KubeObject {
  const { value: pruned, strict } = read(value, expected.version);
  checkMetadata(pruned, schema, expected);
  // What is applied has met the schema by now; only how it was written is left to complain of.
  const all = kind === "apply" ? complaints : [...complaints, ...strict];
  if (fieldValidation === "Strict" && all.length > 0) {
    if (kind === "apply") {
      const why = `error converting YAML to JSON: yaml: unmarshal errors:\n  ${all.join("\n  ")}`;
      throw badRequest(`error strict decoding YAML: ${why}`);
    }
    throw refusePatched(`strict decoding error: ${all.join(", ")}`, kind, JSON.stringify(sorted(value)), expected);
  }
  if (fieldValidation === "Warn") for (const text of all) warn(text);
  return withMetadata(pruned, expected);
}

/** Metadata is read by everybody, whatever a definition says of the rest. */
function checkMetadata(value: unknown, schema: Schema | undefined, { version, kind }: ExpectedObject): void {
  const { metadata } = (value ?? {}) as { metadata?: unknown };
  const problem = metadataProblem(metadata, schema?.properties?.metadata);
  if (problem === undefined) return;
  throw badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${problem}`);
}

/** Another kind is told of before anything in it is. */
function checkHead(value: unknown, expected: ExpectedObject): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) withMetadata({ ...value }, expected);
}

function* parsePlain(body: Buffer, type: string): Steps<ParsedBody> {
  const text = body.toString();
  try {
    if (type === "" || type === "application/json") return yield* parseJsonSteps(text);
    if (type === "application/yaml") return yield* parseYamlSteps(text);
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest((error as Error).message);
  }
  throw unsupportedMediaType(undefined);
}

/** What is no object at all cannot be handled as one; what leaves its kind out is what the path says. */
function withMetadata(value: unknown, { group, version, kind }: ExpectedObject): KubeObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
  }
  const object = value as KubeObject;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  object.apiVersion ||= apiVersion;
  object.kind ||= kind;
  if (object.apiVersion !== apiVersion) {
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (object.kind !== kind) {
    throw badRequest(`${object.kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`);
  }
  if (typeof object.metadata !== "object" || object.metadata === null) object.metadata = {};
  return object;
}

/** DeleteOptions, in whichever form. */
export function readOptions(body: Buffer, header: string | undefined, { goTypes }: BodyMeans): unknown {
  const type = contentType(header);
  const expected = { group: "meta.k8s.io", version: "v1", kind: "DeleteOptions" };
  if (type === PROTOBUF) return fromProtobuf(body, goTypes, expected);
  return readValue(body, type === "application/yaml");
}

/** Any JSON or YAML. */
function readValue(body: Buffer, isYaml: boolean): unknown {
  try {
    return (isYaml ? parseYaml : parseJson)(body.toString()).value;
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const { message } = error as Error;
    throw badRequest(message.replace("couldn't get version/kind; json parse error: ", ""));
  }
}
