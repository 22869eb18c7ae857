import { parseQuantity } from "@fjord/kube";

/** How a quantity is written: `1.5k`, `1Ki` or `1e3`. Sums keep the form of what they began with. */
type Form = "decimal" | "binary" | "exponent";

/** A quantity with the form that it was written in. */
export interface Amount {
  /** In billionths of the unit. */
  readonly value: bigint;
  readonly form: Form;
}

/** By name of resource. */
export type Amounts = ReadonlyMap<string, Amount>;

const UNIT = 1_000_000_000n;

export function amount(text: string | number): Amount {
  const form = /i$/.test(String(text)) ? "binary" : /[eE][+-]?\d+$/.test(String(text)) ? "exponent" : "decimal";
  return { value: parseQuantity(text), form };
}

export const count = (number: number): Amount => ({ value: BigInt(number) * UNIT, form: "decimal" });

export function amounts(quantities: Readonly<Record<string, unknown>> | undefined): Amounts {
  const pairs = Object.entries(quantities ?? {}).map(([name, text]) => [name, amount(text as string)] as const);
  return new Map(pairs);
}

const plus = (a: Amount, b: Amount): Amount => ({ value: a.value + b.value, form: a.value === 0n ? b.form : a.form });

export function added(a: Amounts, b: Amounts): Amounts {
  const sum = new Map(a);
  for (const [name, more] of b) {
    const have = sum.get(name);
    sum.set(name, have === undefined ? more : plus(have, more));
  }
  return sum;
}

/** What `a` has more of than `b`; nothing for what it has less of. */
export function surplus(a: Amounts, b: Amounts): Amounts {
  const pairs = [...a].map(([name, { value, form }]) => {
    const rest = value - (b.get(name)?.value ?? 0n);
    return [name, { value: rest > 0n ? rest : 0n, form }] as const;
  });
  return new Map(pairs);
}

export function largest(a: Amounts, b: Amounts): Amounts {
  const most = new Map(a);
  for (const [name, other] of b) if (other.value > (most.get(name)?.value ?? -1n)) most.set(name, other);
  return most;
}

export function only(of: Amounts, names: Iterable<string>): Amounts {
  const wanted = new Set(names);
  return new Map([...of].filter(([name]) => wanted.has(name)));
}

const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The text that Kubernetes writes for it: the largest suffix that leaves a whole number. */
export function amountText({ value, form }: Amount): string {
  if (value === 0n) return "0";
  const isSmall = value > -1024n * UNIT && value < 1024n * UNIT;
  if (form === "binary" && !isSmall) {
    const whole = value / UNIT + (value % UNIT > 0n ? 1n : 0n);
    const [number, steps] = reduced(whole, 1024n, binarySuffixes.length - 1);
    return `${number}${binarySuffixes[steps]}`;
  }
  const [number, steps] = reduced(value, 1000n, decimalSuffixes.length - 1);
  if (form !== "exponent") return `${number}${decimalSuffixes[steps]}`;
  const power = (steps - 3) * 3;
  return power === 0 ? String(number) : `${number}e${power}`;
}

function reduced(value: bigint, base: bigint, most: number): [bigint, number] {
  let number = value;
  let steps = 0;
  while (steps < most && number % base === 0n) {
    number /= base;
    steps++;
  }
  return [number, steps];
}

export function quantityTexts(of: Amounts): Record<string, string> {
  return Object.fromEntries([...of].map(([name, one]) => [name, amountText(one)]));
}
