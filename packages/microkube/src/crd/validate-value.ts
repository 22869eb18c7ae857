import { expression, TakesTooLong } from "../cel/index.ts";
import { type FieldError, invalidField, notSupported, required } from "../field-error.ts";
import { isOfFormat } from "../kinds/values/text-format.ts";
import type { JsonSchema } from "./json-schema.ts";

/** As many comparisons of a value with a schema as one object may cost: alternatives multiply them. */
const MOST_STEPS = 300_000;
/** So much is wrong that it need not be looked for further. */
const MOST_ERRORS = 1_000;

/** What is left of them. */
interface Budget {
  steps: number;
  errors: number;
}

class Exhausted extends Error {}

/** What is wrong with a value by its schema, in the real server's words: all of it, but not thousands of things. */
export function validateValue(value: unknown, schema: JsonSchema, field: string): FieldError[] {
  try {
    return check(value, schema, field, { steps: MOST_STEPS, errors: MOST_ERRORS });
  } catch (error) {
    if (!(error instanceof Exhausted)) throw error;
    return [{ type: "FieldValueForbidden", field, detail: `takes more than ${MOST_STEPS} steps to validate` }];
  }
}

function check(value: unknown, schema: JsonSchema, field: string, budget: Budget): FieldError[] {
  if (budget.steps-- <= 0) throw new Exhausted();
  if (budget.errors <= 0) return [];
  const left = budget.errors;
  const errors = errorsOf(value, schema, field, budget);
  // Those of what is below it are among them.
  budget.errors = left - errors.length;
  return errors;
}

function errorsOf(value: unknown, schema: JsonSchema, field: string, budget: Budget): FieldError[] {
  if (value === null && schema.nullable) return [];
  const type = typeErrors(value, schema, field);
  if (type.length > 0) return type;
  return [
    ...enumErrors(value, schema, field),
    ...(typeof value === "number" ? numberErrors(value, schema, field) : []),
    ...(typeof value === "string" ? textErrors(value, schema, field) : []),
    ...(Array.isArray(value) ? listErrors(value, schema, field, budget) : []),
    ...(isObject(value) ? objectErrors(value, schema, field, budget) : []),
    ...combinationErrors(value, schema, field, budget),
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

/** What an enumeration allows, as text, once for each. */
const enumerations = new WeakMap<readonly unknown[], { readonly texts: Set<string>; readonly error: FieldError }>();

function enumerationOf(allowed: readonly unknown[]) {
  let known = enumerations.get(allowed);
  if (known === undefined) {
    const names = allowed.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
    known = { texts: new Set(allowed.map((one) => JSON.stringify(one))), error: notSupported("", "", names) };
    enumerations.set(allowed, known);
  }
  return known;
}

function enumErrors(value: unknown, { enum: allowed }: JsonSchema, field: string): FieldError[] {
  if (allowed === undefined || allowed.length === 0) return [];
  const { texts, error } = enumerationOf(allowed);
  return texts.has(JSON.stringify(value)) ? [] : [{ ...error, field, value }];
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
  if (pattern !== undefined) errors.push(...patternErrors(value, pattern, field));
  if (format !== undefined && !isOfFormat(value, format)) {
    const detail = says(field, `must be of type ${format}: ${JSON.stringify(value)}`);
    errors.push({ type: "FieldValueTypeInvalid", field, value, detail });
  }
  return errors;
}

function patternErrors(value: string, pattern: string, field: string): FieldError[] {
  const wrong = (why: string) => [invalidField(field, value, says(field, why))];
  try {
    return expression(pattern).test(value) ? [] : wrong(`should match '${pattern}'`);
  } catch (error) {
    if (error instanceof TakesTooLong) return wrong(`is too long to be compared with '${pattern}'`);
    throw error;
  }
}

function listErrors(value: readonly unknown[], schema: JsonSchema, field: string, budget: Budget): FieldError[] {
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
    items === undefined ? [] : value.flatMap((one, index) => check(one, items, `${field}[${index}]`, budget));
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

function objectErrors(value: Record<string, unknown>, schema: JsonSchema, field: string, budget: Budget): FieldError[] {
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
    if (property !== undefined) errors.push(...check(one, property, below(name), budget));
    else if (typeof additionalProperties === "object")
      errors.push(...check(one, additionalProperties, below(name), budget));
  }
  return errors;
}

function combinationErrors(value: unknown, schema: JsonSchema, field: string, budget: Budget): FieldError[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const fits = (one: JsonSchema) => {
    const trial = { steps: budget.steps, errors: 1 };
    const isRight = check(value, one, field, trial).length === 0;
    budget.steps = trial.steps;
    return isRight;
  };
  const errors: FieldError[] = [];
  const fails = (text: string) => {
    errors.push(nowhere(`${JSON.stringify(field)} ${text}`));
  };
  if (anyOf.length > 0 && !anyOf.some(fits)) {
    fails("must validate at least one schema (anyOf)");
    errors.push(...check(value, anyOf[0] as JsonSchema, field, budget));
  }
  if (oneOf.length > 0) {
    const count = oneOf.filter(fits).length;
    if (count !== 1) {
      fails(
        `must validate one and only one schema (oneOf). ${count === 0 ? "Found none valid" : `Found ${count} valid alternatives`}`,
      );
      if (count === 0) errors.push(...check(value, oneOf[0] as JsonSchema, field, budget));
    }
  }
  if (allOf.some((one) => !fits(one))) {
    fails("must validate all the schemas (allOf)");
    for (const one of allOf) errors.push(...check(value, one, field, budget));
  }
  if (not !== undefined && fits(not)) fails("must not validate the schema (not)");
  return errors;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
