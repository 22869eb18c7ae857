import {
  budget,
  type CelProgram,
  type CostAccount,
  CostExceeded,
  celName,
  celValue,
  compileCel,
  newEnvironment,
} from "../cel/index.ts";
import type { FieldError, FieldErrorType } from "../field-error.ts";
import type { Steps } from "../pace.ts";
import type { Schema } from "../schema/schema.ts";
import type { JsonSchema, ValidationRule } from "./json-schema.ts";

/** Checks one value, with the one before where there was one, one rule after the other. */
type Check = (value: unknown, old: unknown, field: string, account: CostAccount) => Steps<FieldError[]>;

/** So much is wrong that it need not be looked for further. */
const MOST_ERRORS = 1_000;

interface CompiledRule {
  readonly rule: ValidationRule;
  readonly usesOld: boolean;
  run(self: unknown, oldSelf: unknown): unknown;
  message?(self: unknown, oldSelf: unknown): unknown;
}

export interface RuleProblem {
  /** Within the schema: `.properties[spec].x-kubernetes-validations[0].rule`. */
  readonly path: string;
  readonly rule: ValidationRule;
  readonly message: string;
}

const reasons: Readonly<Record<string, FieldErrorType>> = {
  FieldValueInvalid: "FieldValueInvalid",
  FieldValueForbidden: "FieldValueForbidden",
  FieldValueRequired: "FieldValueRequired",
  FieldValueDuplicate: "FieldValueDuplicate",
};

/** What cannot be run of the rules in a schema. */
export function ruleProblems(schema: JsonSchema, path: string): RuleProblem[] {
  const own = (schema["x-kubernetes-validations"] ?? []).flatMap((rule, index) => {
    const at = `${path}.x-kubernetes-validations[${index}]`;
    const message = compileProblem(rule.rule, "bool", schema);
    const other =
      rule.messageExpression === undefined ? undefined : compileProblem(rule.messageExpression, "string", schema);
    return [
      ...(message === undefined ? [] : [{ path: `${at}.rule`, rule, message }]),
      ...(other === undefined ? [] : [{ path: `${at}.messageExpression`, rule, message: other }]),
    ];
  });
  const { properties = {}, items, additionalProperties } = schema;
  return [
    ...own,
    ...Object.entries(properties).flatMap(([name, one]) => ruleProblems(one, `${path}.properties[${name}]`)),
    ...(items === undefined ? [] : ruleProblems(items, `${path}.items`)),
    ...(typeof additionalProperties === "object"
      ? ruleProblems(additionalProperties, `${path}.additionalProperties`)
      : []),
  ];
}

function compileProblem(expression: string, wanted: "bool" | "string", schema: JsonSchema): string | undefined {
  const checked = environment().check(expression);
  if (!checked.valid) return (checked.error?.message ?? "cannot be read").split("\n")[0];
  const unknown = undefinedField(expression, schema);
  if (unknown !== undefined) return `ERROR: <input>:1:1: undefined field '${unknown}'`;
  const type = String(checked.type ?? "dyn");
  return type === wanted || type === "dyn" ? undefined : `must evaluate to a ${wanted}`;
}

/** A field of `self` that the schema does not have; only of plain chains, which is how people write them. */
function undefinedField(expression: string, schema: JsonSchema): string | undefined {
  const bare = expression.replaceAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, "''");
  for (const [, chain = ""] of bare.matchAll(/\b(?:self|oldSelf)((?:\.[A-Za-z_]\w*)+)(?!\w*\()/g)) {
    let at: JsonSchema | undefined = schema;
    for (const name of chain.split(".").slice(1)) {
      const { properties } = at as JsonSchema;
      if (properties === undefined || (at as JsonSchema)["x-kubernetes-preserve-unknown-fields"]) break;
      const found = Object.entries(properties).find(([key]) => celName(key) === name);
      const isMeta = at === schema && ["apiVersion", "kind", "metadata"].includes(name);
      if (isMeta) break;
      if (found === undefined) return name;
      at = found[1];
    }
  }
  return undefined;
}

function environment() {
  return newEnvironment().registerVariable("self", "dyn").registerVariable("oldSelf", "dyn");
}

/** One check for a whole schema; undefined where it has no rules, so that most values are not walked through. */
export function compileRules(schema: JsonSchema, compact: Schema): Check | undefined {
  const rules = (schema["x-kubernetes-validations"] ?? []).map(compileRule);
  const { properties = {}, items, additionalProperties } = schema;
  const fields = Object.entries(properties).flatMap(([name, one]) => {
    const check = compileRules(one, compact.properties?.[name] ?? {});
    return check === undefined ? [] : [{ name, check }];
  });
  const ofItems = items && compileRules(items, compact.items ?? {});
  const ofValues =
    typeof additionalProperties === "object"
      ? compileRules(additionalProperties, compact.additionalProperties ?? {})
      : undefined;
  if (rules.length === 0 && fields.length === 0 && ofItems === undefined && ofValues === undefined) return undefined;
  const { type = "" } = schema;
  const keys = schema["x-kubernetes-list-type"] === "map" ? (schema["x-kubernetes-list-map-keys"] ?? []) : undefined;
  const ofElements = keys === undefined ? () => () => undefined : counterparts(keys);
  return function* (value, old, field, account) {
    if (value === undefined || value === null) return [];
    const errors = yield* applyAll(rules, value, old, { field, type, account }, compact);
    if (Array.isArray(value) && ofItems !== undefined) {
      const counterpart = ofElements(old);
      for (const [index, one] of value.entries()) {
        if (account.isClosed || errors.length >= MOST_ERRORS) break;
        errors.push(...(yield* ofItems(one, counterpart(one), `${field}[${index}]`, account)));
      }
    } else if (isObject(value)) {
      const before = isObject(old) ? old : {};
      const below = (name: string) => (field === "" ? name : `${field}.${name}`);
      for (const { name, check } of fields) {
        if (account.isClosed) break;
        errors.push(...(yield* check(value[name], before[name], below(name), account)));
      }
      if (ofValues !== undefined) {
        for (const [name, one] of Object.entries(value)) {
          if (account.isClosed || errors.length >= MOST_ERRORS) break;
          errors.push(...(yield* ofValues(one, before[name], below(name), account)));
        }
      }
    }
    return errors;
  };
}

/** Elements of a list are the same thing before and after only where keys say so. */
function counterparts(keys: readonly string[]): (old: unknown) => (one: unknown) => unknown {
  const keyOf = (one: unknown) => (isObject(one) ? JSON.stringify(keys.map((key) => one[key])) : undefined);
  return (old) => {
    const before = new Map<string | undefined, unknown>();
    for (const one of Array.isArray(old) ? old : []) if (!before.has(keyOf(one))) before.set(keyOf(one), one);
    before.delete(undefined);
    return (one) => before.get(keyOf(one));
  };
}

/** Each is read when it is first run: a definition may have thousands. */
function compileRule(rule: ValidationRule): CompiledRule {
  const parsed = readLater(rule.rule);
  const message = rule.messageExpression === undefined ? undefined : readLater(rule.messageExpression);
  const context = (self: unknown, oldSelf: unknown) => ({ self, ...(oldSelf !== undefined && { oldSelf }) });
  return {
    rule,
    usesOld: /\boldSelf\b/.test(rule.rule),
    run: (self, oldSelf) => parsed(context(self, oldSelf)),
    ...(message && { message: (self: unknown, oldSelf: unknown) => message(context(self, oldSelf)) }),
  };
}

function readLater(expression: string): CelProgram {
  let program: CelProgram | undefined;
  return (values) => {
    program ??= compileCel(environment(), expression);
    return program(values);
  };
}

interface Place {
  readonly field: string;
  /** As the definition has it. */
  readonly type: string;
  readonly account: CostAccount;
}

function* applyAll(
  rules: readonly CompiledRule[],
  value: unknown,
  old: unknown,
  at: Place,
  schema: Schema,
): Steps<FieldError[]> {
  // A rule on a transition has nothing to say where there was nothing before.
  const asked = rules.filter(({ rule, usesOld }) => !usesOld || old !== undefined || rule.optionalOldSelf);
  const errors: FieldError[] = [];
  const { account } = at;
  const [first] = asked;
  if (first === undefined) return errors;
  let self: unknown;
  let oldSelf: unknown;
  try {
    budget.of(account, () => {
      self = celValue(value, schema);
      oldSelf = old === undefined ? undefined : celValue(old, schema);
    });
  } catch (error) {
    if (!(error instanceof CostExceeded)) throw error;
    return [unrun(at, first, error)];
  }
  for (const rule of asked) {
    if (account.isClosed || errors.length >= MOST_ERRORS) break;
    errors.push(...budget.of(account, () => apply(rule, value, self, oldSelf, at)));
    yield;
  }
  return errors;
}

/** What could not be run is told with the type of the value, not the value. */
function unrun({ field, type, account }: Place, { rule }: CompiledRule, error: unknown): FieldError {
  if (error instanceof CostExceeded) account.isClosed = true;
  const why = errorText(error);
  const named = (rule.message || rule.rule).trim();
  const detail =
    error instanceof CostExceeded
      ? `'${why}': no further validation rules will be run due to call cost exceeds limit for rule: ${named}`
      : why === NO_OVERLOAD
        ? `'${why}': call arguments did not match a supported operator, function or macro signature for rule: ${named}`
        : `${why} evaluating rule: ${named}`;
  return { type: "FieldValueInvalid", field, value: type, detail };
}

const NO_OVERLOAD = "no such overload";

/** In the words of a real server, where the library has others. */
function errorText(error: unknown): string {
  const text = (error as Error).message.split("\n")[0] ?? "";
  if (/^(found no matching overload|no such overload)/.test(text)) return NO_OVERLOAD;
  if (text === "Optional value is not present") return "optional.none() dereference";
  return text
    .replace(/^No such key: index out of bounds, index (-?\d+) .*/, "index out of bounds: $1")
    .replace(/^No such key/, "no such key")
    .replace(/^(integer overflow): .*/, "$1");
}

function apply(compiled: CompiledRule, value: unknown, self: unknown, oldSelf: unknown, at: Place): FieldError[] {
  const { rule } = compiled;
  const type = reasons[rule.reason ?? "FieldValueInvalid"] ?? "FieldValueInvalid";
  const shown = typeof value === "object" ? { omitsValue: true } : { value };
  try {
    if (compiled.run(self, oldSelf) === true) return [];
    const field = rule.fieldPath === undefined ? at.field : `${at.field}${rule.fieldPath}`;
    return [{ type, field, ...shown, detail: detailOf(compiled, self, oldSelf) }];
  } catch (error) {
    return [unrun(at, compiled, error)];
  }
}

function detailOf({ rule, message }: CompiledRule, self: unknown, oldSelf: unknown): string {
  try {
    const text = message?.(self, oldSelf);
    if (typeof text === "string" && text.trim() !== "" && !text.includes("\n")) return text.trim();
  } catch {
    // What the rule says by itself will do.
  }
  return messageOf(rule);
}

function messageOf({ rule, message }: ValidationRule): string {
  return message !== undefined && message !== "" ? message : `failed rule: ${rule.trim()}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
