import { expression } from "../cel/texts.ts";
import { type FieldError, invalidField, notSupported, required } from "../field-error.ts";
import { isOfFormat } from "./formats.ts";
import type { JsonSchema } from "./json-schema.ts";

/** All that is wrong with a value by its schema, in the real server's words. */
export function validateValue(value: unknown, schema: JsonSchema, field: string): FieldError[] {
  if (value === null && schema.nullable) return [];
  const type = typeErrors(value, schema, field);
  if (type.length > 0) return type;
  return [
    ...enumErrors(value, schema, field),
    ...(typeof value === "number" ? numberErrors(value, schema, field) : []),
    ...(typeof value === "string" ? textErrors(value, schema, field) : []),
    ...(Array.isArray(value) ? listErrors(value, schema, field) : []),
    ...(isObject(value) ? objectErrors(value, schema, field) : []),
    ...combinationErrors(value, schema, field),
  ];
}

const says = (field: string, detail: string) => `${field} in body ${detail}`;

function typeErrors(value: unknown, schema: JsonSchema, field: string): FieldError[] {
  if (schema["x-kubernetes-int-or-string"]) {
    const fits = typeof value === "string" || Number.isInteger(value);
    return fits ? [] : [wrongType(value, "integer,string", field)];
  }
  const { type } = schema;
  if (type === undefined || type === "") return [];
  const actual = nameOf(value);
  const fits = actual === type || (type === "number" && actual === "integer");
  if (fits) return [];
  const wrong = wrongType(value, type, field);
  if (type !== "integer" || actual !== "number") return [wrong];
  return [wrong, nowhere(`Checked value must be of type integer (default format) in ${field}`)];
}

/** What the real server says without a place. */
function nowhere(detail: string): FieldError {
  return invalidField("<nil>", "", detail);
}

function wrongType(value: unknown, wanted: string, field: string): FieldError {
  const actual = nameOf(value);
  const detail = says(field, `must be of type ${wanted}: ${JSON.stringify(actual)}`);
  return { type: "FieldValueTypeInvalid", field, value: actual, detail };
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function enumErrors(value: unknown, { enum: allowed }: JsonSchema, field: string): FieldError[] {
  if (allowed === undefined || allowed.length === 0) return [];
  const text = JSON.stringify(value);
  if (allowed.some((one) => JSON.stringify(one) === text)) return [];
  return [
    notSupported(
      field,
      value,
      allowed.map((one) => (typeof one === "string" ? one : JSON.stringify(one))),
    ),
  ];
}

function numberErrors(value: number, schema: JsonSchema, field: string): FieldError[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const wrong = (detail: string) => invalidField(field, value, says(field, detail));
  const errors: FieldError[] = [];
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    errors.push(wrong(`should be less than ${exclusiveMaximum ? "" : "or equal to "}${maximum}`));
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    errors.push(wrong(`should be greater than ${exclusiveMinimum ? "" : "or equal to "}${minimum}`));
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) {
    errors.push(wrong(`should be a multiple of ${multipleOf}`));
  }
  return errors;
}

function textErrors(value: string, schema: JsonSchema, field: string): FieldError[] {
  const { minLength, maxLength, pattern, format } = schema;
  const errors: FieldError[] = [];
  const length = [...value].length;
  if (maxLength !== undefined && length > maxLength) {
    errors.push({ type: "FieldValueTooLong", field, value, detail: `may not be more than ${maxLength} bytes` });
  }
  if (minLength !== undefined && length < minLength) {
    errors.push(invalidField(field, value, says(field, `should be at least ${minLength} chars long`)));
  }
  if (pattern !== undefined && !expression(pattern).test(value)) {
    errors.push(invalidField(field, value, says(field, `should match '${pattern}'`)));
  }
  if (format !== undefined && !isOfFormat(value, format)) {
    const detail = says(field, `must be of type ${format}: ${JSON.stringify(value)}`);
    errors.push({ type: "FieldValueTypeInvalid", field, value, detail });
  }
  return errors;
}

function listErrors(value: readonly unknown[], schema: JsonSchema, field: string): FieldError[] {
  const { minItems, maxItems, uniqueItems, items } = schema;
  const errors: FieldError[] = [];
  if (maxItems !== undefined && value.length > maxItems) {
    const detail = `must have at most ${maxItems} items`;
    errors.push({ type: "FieldValueTooMany", field, value: value.length, detail });
  }
  if (minItems !== undefined && value.length < minItems) {
    errors.push(invalidField(field, value.length, says(field, `should have at least ${minItems} items`)));
  }
  if (uniqueItems && new Set(value.map((one) => JSON.stringify(one))).size < value.length) {
    errors.push(invalidField(field, value, says(field, "shouldn't contain duplicates")));
  }
  const below =
    items === undefined ? [] : value.flatMap((one, index) => validateValue(one, items, `${field}[${index}]`));
  return [...errors, ...below, ...duplicateErrors(value, schema, field)];
}

/** Sets and maps by keys have each element once. */
function duplicateErrors(value: readonly unknown[], schema: JsonSchema, field: string): FieldError[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "set" && type !== "map") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const seen = new Set<string>();
  return value.flatMap((one, index) => {
    const part = type === "set" || !isObject(one) ? one : Object.fromEntries(keys.map((key) => [key, one[key]]));
    const text = JSON.stringify(part);
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    return [{ type: "FieldValueDuplicate" as const, field: `${field}[${index}]`, value: part, detail: "" }];
  });
}

function objectErrors(value: Record<string, unknown>, schema: JsonSchema, field: string): FieldError[] {
  const { properties = {}, additionalProperties, required: names = [], minProperties, maxProperties } = schema;
  const below = (name: string) => (field === "" ? name : `${field}.${name}`);
  const errors: FieldError[] = names.filter((name) => !Object.hasOwn(value, name)).map((name) => required(below(name)));
  const count = Object.keys(value).length;
  if (maxProperties !== undefined && count > maxProperties) {
    const detail = `must have at most ${maxProperties} items`;
    errors.push({ type: "FieldValueTooMany", field, value: count, detail });
  }
  if (minProperties !== undefined && count < minProperties) {
    errors.push(invalidField(field, count, says(field, `should have at least ${minProperties} properties`)));
  }
  for (const [name, one] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property !== undefined) errors.push(...validateValue(one, property, below(name)));
    else if (typeof additionalProperties === "object")
      errors.push(...validateValue(one, additionalProperties, below(name)));
  }
  return errors;
}

function combinationErrors(value: unknown, schema: JsonSchema, field: string): FieldError[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const fits = (one: JsonSchema) => validateValue(value, one, field).length === 0;
  const errors: FieldError[] = [];
  const fails = (text: string) => {
    errors.push(nowhere(`${JSON.stringify(field)} ${text}`));
  };
  if (anyOf.length > 0 && !anyOf.some(fits)) {
    fails("must validate at least one schema (anyOf)");
    errors.push(...validateValue(value, anyOf[0] as JsonSchema, field));
  }
  if (oneOf.length > 0) {
    const count = oneOf.filter(fits).length;
    if (count !== 1) {
      fails(
        `must validate one and only one schema (oneOf). ${count === 0 ? "Found none valid" : `Found ${count} valid alternatives`}`,
      );
      if (count === 0) errors.push(...validateValue(value, oneOf[0] as JsonSchema, field));
    }
  }
  if (allOf.some((one) => !fits(one))) {
    fails("must validate all the schemas (allOf)");
    for (const one of allOf) errors.push(...validateValue(value, one, field));
  }
  if (not !== undefined && fits(not)) fails("must not validate the schema (not)");
  return errors;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
