import type { Environment } from "@marcbachmann/cel-js";
import { budget } from "./budget.ts";
import { areSame } from "./equality.ts";
import { registerNamespace } from "./namespace.ts";

type List = readonly unknown[];

/** Lists that are meant as sets. */
export function registerSets(environment: Environment): void {
  registerNamespace(environment, "sets", {
    "contains(list, list): bool": (all: List, some: List) => compared(all, some) && contains(all, some),
    "equivalent(list, list): bool": (a: List, b: List) => compared(a, b) && contains(a, b) && contains(b, a),
    "intersects(list, list): bool": (a: List, b: List) =>
      compared(a, b) && b.some((one) => a.some((other) => areSame(one, other))),
  });
}

const contains = (all: List, some: List) => some.every((one) => all.some((other) => areSame(one, other)));

/** Each is compared with each other one. */
function compared(a: List, b: List): true {
  budget.spend(a.length * b.length);
  return true;
}
