import { duplicate, type FieldError, invalidField, required } from "../field-error.ts";
import { tooMany } from "../kinds/object-meta.ts";
import { sameMeaning } from "../kinds/values/equality.ts";
import type { DefinitionVersion } from "./definition.ts";
import type { JsonSchema } from "./json-schema.ts";

const MOST_FIELDS = 8;
const SCALARS = ["string", "boolean", "integer"];

/**
 * What is wrong with the fields that objects may be selected by. What all versions say alike is taken for no version's
 * own, and then has to fit a schema that is nobody's own either: as in Kubernetes.
 */
export function selectableFieldErrors(versions: readonly DefinitionVersion[]): FieldError[] {
  const [first] = versions;
  if (first === undefined) return [];
  const sharesSchema = versions.every(({ schema }) => sameMeaning(schema, first.schema));
  const sharesFields = versions.every(({ selectableFields }) => sameMeaning(selectableFields, first.selectableFields));
  if (sharesFields) {
    const schema = sharesSchema ? first.schema?.openAPIV3Schema : undefined;
    const missing = "may only be set when validations.schema is included";
    return fieldErrors(first, schema, "spec.selectableFields", missing);
  }
  return versions.flatMap((version, index) => {
    const schema = sharesSchema ? undefined : version.schema?.openAPIV3Schema;
    const missing = "may only be set when `version.schema.openAPIV3Schema` is not included";
    return fieldErrors(version, schema, `spec.versions[${index}].selectableFields`, missing);
  });
}

function fieldErrors(
  { selectableFields = [] }: DefinitionVersion,
  schema: JsonSchema | undefined,
  path: string,
  missing: string,
): FieldError[] {
  if (selectableFields.length === 0) return [];
  if (schema === undefined) return [invalidField(path, "", missing)];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { jsonPath = "" }] of selectableFields.entries()) {
    const at = `${path}[${index}].jsonPath`;
    if (jsonPath === "") {
      errors.push(required(at));
      continue;
    }
    const found = fieldAt(jsonPath, schema);
    if ("problem" in found) {
      errors.push(invalidField(at, jsonPath, `is an invalid path: ${found.problem}`));
      continue;
    }
    if (found.names[0] === "metadata") errors.push(invalidField(at, jsonPath, "must not point to fields in metadata"));
    if (!SCALARS.includes(found.schema?.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.push(invalidField(at, jsonPath, detail));
    }
    const name = JSON.stringify(found.names);
    if (seen.has(name)) errors.push(duplicate(at, jsonPath));
    seen.add(name);
  }
  if (seen.size > MOST_FIELDS) errors.push(tooMany(path, seen.size, MOST_FIELDS));
  return errors;
}

type Found = { readonly names: string[]; readonly schema: JsonSchema | undefined } | { readonly problem: string };

/** The field that a path of plain names leads to. */
function fieldAt(jsonPath: string, root: JsonSchema): Found {
  // Names, what is quoted as a whole, and what stands between them.
  const tokens = jsonPath.match(/'(?:[^'\\]|\\.)*'?|[.[\]]|[^.[\]]+/gs) ?? [];
  const names: string[] = [];
  let schema: JsonSchema | undefined = root;
  for (let i = 0; i < tokens.length; i += 2) {
    const [separator, name] = [tokens[i], tokens[i + 1]];
    if (separator === "[") return { problem: "array notation is not allowed" };
    if (separator !== ".") return { problem: `expected [ or . but got: ${separator}` };
    if (name === undefined) return { problem: "unexpected end of JSON path" };
    const { properties = {}, additionalProperties }: JsonSchema = schema ?? {};
    if (Object.keys(properties).length === 0 && additionalProperties !== undefined) {
      schema = typeof additionalProperties === "object" ? additionalProperties : undefined;
    } else if (Object.hasOwn(properties, name)) schema = properties[name];
    else return { problem: "does not refer to a valid field" };
    names.push(name);
  }
  return { names, schema };
}
