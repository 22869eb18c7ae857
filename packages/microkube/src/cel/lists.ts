import type { Environment } from "@marcbachmann/cel-js";

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
      BigInt(list.findIndex((other) => same(other, one))),
    )
    .registerFunction("list.lastIndexOf(dyn): int", (list: unknown[], one: unknown) =>
      BigInt(list.findLastIndex((other) => same(other, one))),
    )
    .registerFunction("list.distinct(): list<dyn>", distinct)
    .registerFunction("list.reverse(): list<dyn>", (list: unknown[]) => list.toReversed())
    .registerFunction("list.slice(int, int): list<dyn>", (list: unknown[], from: bigint, to: bigint) =>
      list.slice(Number(from), Number(to)),
    )
    .registerFunction("list.flatten(): list<dyn>", (list: unknown[]) => list.flat())
    .registerFunction("list.sort(): list<dyn>", (list: Value[]) =>
      list.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    );
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

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  return text(a) === text(b);
}

function text(value: object): string {
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `${one}n` : one));
}
