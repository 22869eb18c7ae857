import { budget } from "./budget.ts";
import type { CelEnvironment } from "./environment.ts";
import { MATCHES } from "./texts.ts";

/** An expression that is ready to be run; throws `CostExceeded` where that takes too much. */
export type CelProgram = (values: Record<string, unknown>) => unknown;

/** As far as it is looked at. */
interface AstNode {
  readonly op: string;
  args: unknown;
  readonly meta: { readonly alternate?: AstNode; readonly macro?: object; evaluate: (...means: unknown[]) => unknown };
}

interface Comprehension {
  condition?: (accumulated: unknown) => boolean;
}

const ITERATION = 3;

/** Reads an expression so that it ends, whatever is written in it. Throws where it cannot be read. */
export function compileCel(environment: CelEnvironment, source: string): CelProgram {
  const parsed = environment.parse(source) as unknown as CelProgram & { readonly ast: AstNode };
  limit(parsed.ast, new Set());
  return (values) => budget.one(() => parsed(values));
}

/** Loops are charged for, and what grows with each, and expressions within expressions are ours, which take no more time than there is text. */
function limit(part: unknown, seen: Set<unknown>): void {
  if (typeof part !== "object" || part === null || seen.has(part)) return;
  seen.add(part);
  if (!isNode(part)) {
    for (const one of Object.values(part)) limit(one, seen);
    return;
  }
  const { alternate, macro } = part.meta;
  if (part.op === "rcall" && Array.isArray(part.args) && part.args[0] === "matches") part.args[0] = MATCHES;
  if (part.op === "+") {
    const { evaluate } = part.meta;
    part.meta.evaluate = (...means) => grown(evaluate(...means));
  }
  if (part.op === "comprehension") {
    const loop = part.args as Comprehension;
    const { condition } = loop;
    loop.condition = (accumulated) => {
      budget.spend(ITERATION);
      return condition === undefined || condition(accumulated);
    };
  }
  limit(alternate, seen);
  limit(macro, seen);
  limit(part.args, seen);
}

/** Texts and lists, put together from themselves a few dozen times, would fill any memory. */
function grown(value: unknown): unknown {
  if (typeof value === "string") budget.spend(value.length / 10);
  else if (Array.isArray(value) || value instanceof Uint8Array) budget.spend(value.length);
  return value;
}

function isNode(part: object): part is AstNode {
  return "op" in part && "meta" in part;
}
