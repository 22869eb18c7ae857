import { expression } from "../cel/index.ts";
import { type FieldError, forbiddenField, invalidField, notSupported, required } from "../field-error.ts";
import { type JsonSchema, partsOf } from "./json-schema.ts";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];

/** What keeps a schema from being structural, or from making sense. */
export function structuralProblems(schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.type !== "object") {
    errors.push(
      schema.type === undefined || schema.type === ""
        ? required(`${path}.type`, "must not be empty at the root")
        : invalidField(`${path}.type`, schema.type, "must be object at the root"),
    );
  }
  errors.push(...problemsAt(schema, path, true));
  return errors;
}

function problemsAt(schema: JsonSchema, path: string, isRoot: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const { type, properties, additionalProperties, items } = schema;
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type !== undefined && type !== "" && !TYPES.includes(type))
    errors.push(notSupported(`${path}.type`, type, TYPES));
  if (isIntOrString && type !== undefined && type !== "") {
    errors.push(invalidField(`${path}.type`, type, "must be empty if x-kubernetes-int-or-string is true"));
  }
  if (properties !== undefined && Object.keys(properties).length > 0 && typeof additionalProperties === "object") {
    errors.push(
      forbiddenField(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive"),
    );
  }
  if (type === "array" && items === undefined) errors.push(required(`${path}.items`, "must be specified"));
  if (schema.uniqueItems)
    errors.push(
      forbiddenField(
        `${path}.uniqueItems`,
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ),
    );
  errors.push(...patternProblems(schema, path), ...listProblems(schema, path));
  for (const { path: at, schema: one } of partsOf(schema)) errors.push(...problemsAt(one, `${path}${at}`, false));
  if (!isRoot && (type === undefined || type === "") && !isIntOrString && !isOpen) {
    errors.push(required(`${path}.type`, "must not be empty for specified object fields"));
  }
  return errors;
}

function patternProblems({ pattern = "" }: JsonSchema, path: string): FieldError[] {
  if (pattern === "") return [];
  try {
    expression(pattern);
    return [];
  } catch (error) {
    const { message } = error as Error;
    return [invalidField(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${message}`)];
  }
}

function listProblems(schema: JsonSchema, path: string): FieldError[] {
  const type = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const errors: FieldError[] = [];
  if (type !== undefined && schema.type !== "array") {
    errors.push(
      invalidField(`${path}.type`, schema.type ?? "", "must be array if x-kubernetes-list-type is specified"),
    );
  }
  if (type !== undefined && !["atomic", "set", "map"].includes(type)) {
    errors.push(notSupported(`${path}.x-kubernetes-list-type`, type, ["atomic", "map", "set"]));
  }
  if (type === "map" && keys.length === 0) {
    errors.push(required(`${path}.x-kubernetes-list-map-keys`, "must not be empty if x-kubernetes-list-type is map"));
  }
  if (type !== "map" && keys.length > 0) {
    errors.push(
      invalidField(
        `${path}.x-kubernetes-list-type`,
        type ?? "",
        "must be map if x-kubernetes-list-map-keys is non-empty",
      ),
    );
  }
  for (const [index, key] of (type === "map" ? keys : []).entries()) {
    if (Object.hasOwn(schema.items?.properties ?? {}, key)) continue;
    errors.push(
      invalidField(`${path}.x-kubernetes-list-map-keys[${index}]`, key, `entries must all be names of item properties`),
    );
  }
  return errors;
}
