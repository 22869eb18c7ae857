import type { KubeObject } from "@fjord/base";
import {
  type Decoder,
  type FieldValidation,
  type GoTypes,
  parseJson,
  parseYaml,
  type Schema,
} from "../schema/index.ts";
import { badRequest, StatusError } from "../status-error.ts";
import { contentType, unsupportedMediaType } from "./media-type.ts";
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

/** Reads a request's object, with what its schema says of it. */
export function readObject(
  { decoder, goTypes }: BodyMeans,
  body: Buffer,
  header: string | undefined,
  of: { expected: ExpectedObject; schema: Schema | undefined; fieldValidation: FieldValidation },
  warn: (text: string) => void,
): KubeObject {
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
  if (schema === undefined) return withMetadata(readPlain(body, type), expected);
  const { object, warnings } = decoder.decode(body, type, { expected, schema, fieldValidation });
  for (const text of warnings) warn(text);
  return withMetadata(object, expected);
}

/** Checks again what a patch has made of an object. */
export function readPatched(
  decoder: Decoder,
  value: KubeObject,
  of: { expected: ExpectedObject; schema: Schema | undefined; fieldValidation: FieldValidation },
  warn: (text: string) => void,
): KubeObject {
  const { expected, schema, fieldValidation } = of;
  if (schema === undefined) return withMetadata(value, expected);
  const { object, warnings } = decoder.decodeParsed({ value }, { expected, schema, fieldValidation });
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

function readPlain(body: Buffer, type: string): unknown {
  const text = body.toString();
  try {
    if (type === "" || type === "application/json") return parseJson(text).value;
    if (type === "application/yaml") return parseYaml(text).value;
  } catch (error) {
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

/** A patch: any JSON or YAML. */
export function readValue(body: Buffer, isYaml: boolean): unknown {
  try {
    return (isYaml ? parseYaml : parseJson)(body.toString()).value;
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const { message } = error as Error;
    throw badRequest(message.replace("couldn't get version/kind; json parse error: ", ""));
  }
}
