import { type Operand, type Part, type Path, parseTemplate, type Step } from "./jsonpath-parser.ts";

/** What `kubectl -o jsonpath=TEMPLATE` would print of a value. What is not there is printed as nothing. */
export function jsonPath(template: string): (value: unknown) => string {
  const parts = parseTemplate(template);
  return (value) => print(parts, value, value);
}

/** What a single path, such as `.status.conditions[?(@.type=="Ready")].status`, leads to. */
export function jsonPathValues(path: string): (value: unknown) => unknown[] {
  const [part] = parseTemplate(`{${path}}`);
  return (value) => (part?.type === "path" ? follow(part.path, value, value) : []);
}

function print(parts: readonly Part[], root: unknown, here: unknown): string {
  return parts
    .map((part) => {
      if (part.type === "text") return part.text;
      const found = follow(part.path, root, here);
      if (part.type === "path") return found.map(textOf).join(" ");
      return found.map((each) => print(part.parts, root, each)).join("");
    })
    .join("");
}

function follow({ fromRoot, steps }: Path, root: unknown, here: unknown): unknown[] {
  return steps.reduce<unknown[]>((values, step) => takeAll(step, values, root), [fromRoot ? root : here]);
}

/** Several choices are taken one after the other, each from all values: so does kubectl. */
function takeAll(step: Step, values: readonly unknown[], root: unknown): unknown[] {
  if (step.type === "union") return step.choices.flatMap((choice) => takeAll(choice, values, root));
  return values.flatMap((value) => take(step, value, root));
}

function take(step: Exclude<Step, { type: "union" }>, value: unknown, root: unknown): unknown[] {
  switch (step.type) {
    case "field":
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case "all":
      return childrenOf(value);
    case "below":
      return below(value);
    case "index":
      return Array.isArray(value) && value.at(step.index) !== undefined ? [value.at(step.index)] : [];
    case "slice": {
      if (!Array.isArray(value)) return [];
      const part: unknown[] = value.slice(step.from, step.to);
      return part.filter((_, index) => index % Math.max(step.by, 1) === 0);
    }
    case "filter":
      return Array.isArray(value) ? value.filter((each) => holds(step, each, root)) : [];
  }
}

function holds({ left, operator, right }: Extract<Step, { type: "filter" }>, here: unknown, root: unknown): boolean {
  const [a] = valuesOf(left, root, here);
  if (operator === undefined || right === undefined) return a !== undefined;
  const [b] = valuesOf(right, root, here);
  if (a === undefined || b === undefined) return false;
  if (operator === "==") return a === b;
  if (operator === "!=") return a !== b;
  if (typeof a !== typeof b || (typeof a !== "number" && typeof a !== "string")) return false;
  const [one, other] = [a, b as typeof a];
  if (operator === "<") return one < other;
  if (operator === "<=") return one <= other;
  return operator === ">" ? one > other : one >= other;
}

function valuesOf(operand: Operand, root: unknown, here: unknown): unknown[] {
  return "path" in operand ? follow(operand.path, root, here) : [operand.value];
}

/** The value and all that is in it, whatever the depth. */
function below(value: unknown): unknown[] {
  return [value, ...childrenOf(value).flatMap(below)];
}

function childrenOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value) : [];
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(sorted(value));
}

/** As kubectl writes objects: by name. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
