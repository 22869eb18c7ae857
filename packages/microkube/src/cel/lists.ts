import type { Environment } from "@marcbachmann/cel-js";
import { budget } from "./budget.ts";
import { areSame } from "./equality.ts";
import { registerNamespace } from "./namespace.ts";

type Value = string | number | bigint | boolean | Date;

/** Kubernetes' functions of lists. */
export function registerLists(environment: Environment): void {
  environment
    .registerFunction("list.isSorted(): bool", (list: Value[]) =>
      list.every((one, index) => index === 0 || (list[index - 1] as Value) <= one),
    )
    .registerFunction("list.sum(): dyn", (list: (number | bigint)[]) => sum(list))
    .registerFunction("list.min(): dyn", (list: Value[]) => extreme(list, (a, b) => a < b, "min"))
    .registerFunction("list.max(): dyn", (list: Value[]) => extreme(list, (a, b) => a > b, "max"))
    .registerFunction("list.indexOf(dyn): int", (list: unknown[], one: unknown) =>
      BigInt(list.findIndex((other) => areSame(other, one))),
    )
    .registerFunction("list.lastIndexOf(dyn): int", (list: unknown[], one: unknown) =>
      BigInt(list.findLastIndex((other) => areSame(other, one))),
    )
    .registerFunction("list.distinct(): list<dyn>", distinct)
    .registerFunction("list.reverse(): list<dyn>", (list: unknown[]) => list.toReversed())
    .registerFunction("list.slice(int, int): list<dyn>", slice)
    .registerFunction("list.flatten(): list<dyn>", (list: unknown[]) => flatten(list, 1n))
    .registerFunction("list.flatten(int): list<dyn>", flatten)
    .registerFunction("list.sort(): list<dyn>", (list: Value[]) =>
      list.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    );
  registerNamespace(environment, "lists", { "range(int): list<int>": range });
}

function slice(list: readonly unknown[], from: bigint, to: bigint): unknown[] {
  if (from < 0n || to < 0n) {
    throw new Error(`cannot slice(${from}, ${to}), negative indexes not supported`);
  }
  if (from > to) throw new Error(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  if (to > BigInt(list.length)) throw new Error(`cannot slice(${from}, ${to}), list is length ${list.length}`);
  return list.slice(Number(from), Number(to));
}

function flatten(list: readonly unknown[], depth: bigint): unknown[] {
  if (depth < 0n) throw new Error("level must be non-negative");
  const flat = list.flat(Number(depth));
  budget.spend(flat.length);
  return flat;
}

function range(size: bigint): bigint[] {
  if (size > 0n) budget.spend(Number(size));
  return Array.from({ length: Math.max(0, Number(size)) }, (_, index) => BigInt(index));
}

function sum(list: readonly (number | bigint)[]): number | bigint {
  if (list.every((one) => typeof one === "bigint")) return list.reduce((all, one) => all + one, 0n);
  return list.reduce<number>((all, one) => all + Number(one), 0);
}

function extreme(list: readonly Value[], isBetter: (a: Value, b: Value) => boolean, name: string): Value {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error(`${name} called on empty list`);
  return rest.reduce((best, one) => (isBetter(one, best) ? one : best), first);
}

/** The first of each, without a comparison of every one with every other. */
function distinct(list: readonly unknown[]): unknown[] {
  const seen = new Set<unknown>();
  return list.filter((one) => {
    const key = typeof one === "object" && one !== null ? `{}${text(one)}` : typeof one === "string" ? `''${one}` : one;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function text(value: object): string {
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `${one}n` : one));
}
