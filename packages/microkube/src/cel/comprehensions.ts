import type { Environment } from "@marcbachmann/cel-js";
import { budget, CostExceeded } from "./budget.ts";

/** As far as it is looked at. */
interface AstNode {
  readonly op: string;
  readonly args: unknown;
}

interface Type {
  readonly kind: string;
  readonly keyType?: Type;
  readonly valueType?: Type;
}

interface Scope {
  forkWithVariable(name: string, type: Type): Scope;
  reuse(parent: Scope): Scope;
  setIterValue(value: unknown, evaluator: Evaluator): Scope;
}

interface Checker {
  check(node: AstNode, scope: Scope): Type;
  getType(name: string): Type;
}

interface Evaluator {
  run(node: AstNode, scope: Scope): unknown;
}

interface Call {
  readonly receiver: AstNode;
  readonly args: readonly AstNode[];
}

/** Runs an expression of the call with the variables set to an element. */
type Run = (expression: number, element: Element) => unknown;
type Element = readonly [key: unknown, value: unknown];

interface Loop {
  readonly variables: 1 | 2;
  readonly result: "bool" | "list" | "map";
  run(elements: readonly Element[], run: Run, expressions: number): unknown;
}

const ITERATION = 3;

const loops: Readonly<Record<string, Loop>> = {
  all: { variables: 2, result: "bool", run: (elements, run) => !found(elements, run, false) },
  exists: { variables: 2, result: "bool", run: (elements, run) => found(elements, run, true) },
  existsOne: { variables: 2, result: "bool", run: (elements, run) => count(elements, run) === 1 },
  exists_one: { variables: 2, result: "bool", run: (elements, run) => count(elements, run) === 1 },
  transformList: {
    variables: 2,
    result: "list",
    run: (elements, run, expressions) =>
      kept(elements, run, expressions).map((element) => run(expressions - 1, element)),
  },
  transformMap: {
    variables: 2,
    result: "map",
    run: (elements, run, expressions) =>
      mapOf(kept(elements, run, expressions).map((element) => [element[0], run(expressions - 1, element)])),
  },
  transformMapEntry: {
    variables: 2,
    result: "map",
    run: (elements, run, expressions) =>
      mapOf(
        kept(elements, run, expressions).flatMap((element) => {
          const entry = run(expressions - 1, element);
          return elementsOf(entry, "map");
        }),
      ),
  },
  sortBy: { variables: 1, result: "list", run: (elements, run) => sorted(elements, run) },
};

/** Loops with a key or an index beside the value, and sorting by an expression. */
export function registerComprehensions(environment: Environment): void {
  for (const [name, loop] of Object.entries(loops)) {
    const withFilter = name.startsWith("transform");
    for (const expressions of withFilter ? [1, 2] : [1]) {
      const parameters = Array.from({ length: loop.variables + expressions }, () => "ast").join(", ");
      const result = { bool: "bool", list: "list<dyn>", map: "map<dyn, dyn>" }[loop.result];
      environment.registerFunction(`list.${name}(${parameters}): ${result}`, (call: Call) => macro(name, loop, call));
    }
  }
}

function macro(name: string, loop: Loop, { receiver, args }: Call) {
  const names = args.slice(0, loop.variables).map((node) => {
    if (node.op !== "id") throw new Error(`${name}() variable name must be a simple identifier`);
    return node.args as string;
  });
  const expressions = args.slice(loop.variables);
  let scopes: Scope[] = [];
  return {
    async: false,
    typeCheck(checker: Checker, _: unknown, scope: Scope): Type {
      const range = checker.check(receiver, scope);
      const dyn = checker.getType("dyn");
      if (!["dyn", "list", "map"].includes(range.kind)) {
        throw new Error(
          `expression of type '${range}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
      }
      const key = range.kind === "list" ? checker.getType("int") : (range.keyType ?? dyn);
      const types = loop.variables === 1 ? [range.valueType ?? dyn] : [key, range.valueType ?? dyn];
      let inner = scope;
      scopes = names.map((variable, index) => {
        inner = inner.forkWithVariable(variable, types[index] ?? dyn);
        return inner;
      });
      for (const expression of expressions) checker.check(expression, inner);
      return checker.getType({ bool: "bool", list: "list<dyn>", map: "map<dyn, dyn>" }[loop.result]);
    },
    evaluate(evaluator: Evaluator, _: unknown, outer: Scope): unknown {
      const elements = elementsOf(evaluator.run(receiver, outer), "range");
      const run: Run = (index, [key, value]) => {
        budget.spend(ITERATION);
        let inner = outer;
        const values = loop.variables === 1 ? [value] : [key, value];
        for (const [at, scope] of scopes.entries()) inner = scope.reuse(inner).setIterValue(values[at], evaluator);
        return evaluator.run(expressions[index] as AstNode, inner);
      };
      return loop.run(elements, run, expressions.length);
    },
  };
}

function elementsOf(value: unknown, wanted: "range" | "map"): Element[] {
  if (Array.isArray(value) && wanted === "range") return value.map((one, index): Element => [BigInt(index), one]);
  if (value instanceof Map) return [...value];
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw new Error("no such overload");
}

/** Whether one is as wanted. What cannot be told of one does not matter where another one is. */
function found(elements: readonly Element[], run: Run, wanted: boolean): boolean {
  let problem: { error: unknown } | undefined;
  for (const element of elements) {
    try {
      if (asBool(run(0, element)) === wanted) return true;
    } catch (error) {
      // Nothing is left for any other one.
      if (error instanceof CostExceeded) throw error;
      problem ??= { error };
    }
  }
  if (problem !== undefined) throw problem.error;
  return false;
}

const count = (elements: readonly Element[], run: Run) => elements.filter((element) => asBool(run(0, element))).length;

const kept = (elements: readonly Element[], run: Run, expressions: number) =>
  expressions === 1 ? elements : elements.filter((element) => asBool(run(0, element)));

function asBool(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new Error("no such overload");
}

function mapOf(entries: readonly Element[]): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    const name = String(key);
    if (Object.hasOwn(map, name)) throw new Error(`insert failed: key ${name} already exists`);
    Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return map;
}

function sorted(elements: readonly Element[], run: Run): unknown[] {
  const keyed = elements.map((element) => ({ key: run(0, element) as string | number | bigint | Date, element }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ element }) => element[1]);
}
