import { parseQuantity } from "@fjord/kube";
import type { Environment } from "@marcbachmann/cel-js";

class CelQuantity {
  readonly amount: bigint;
  constructor(amount: bigint) {
    this.amount = amount;
  }
}

const UNIT = 1_000_000_000n;
const TYPE = "kubernetes.Quantity";

/** Amounts as `quantity("1.5Gi")`. */
export function registerQuantities(environment: Environment): void {
  const compare = (a: CelQuantity, b: CelQuantity) => (a.amount < b.amount ? -1n : a.amount > b.amount ? 1n : 0n);
  environment
    .registerType(TYPE, { ctor: CelQuantity, fields: {} })
    .registerFunction("isQuantity(string): bool", (text: string) => read(text) !== undefined)
    .registerFunction(`quantity(string): ${TYPE}`, (text: string) => {
      const quantity = read(text);
      if (quantity === undefined)
        throw new Error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
      return quantity;
    })
    .registerFunction(`${TYPE}.sign(): int`, ({ amount }: CelQuantity) => (amount < 0n ? -1n : amount > 0n ? 1n : 0n))
    .registerFunction(`${TYPE}.isInteger(): bool`, ({ amount }: CelQuantity) => amount % UNIT === 0n)
    .registerFunction(`${TYPE}.asInteger(): int`, ({ amount }: CelQuantity) => {
      if (amount % UNIT !== 0n) throw new Error("cannot convert value to integer");
      return amount / UNIT;
    })
    .registerFunction(
      `${TYPE}.asApproximateFloat(): double`,
      ({ amount }: CelQuantity) => Number(amount) / Number(UNIT),
    )
    .registerFunction(`${TYPE}.isGreaterThan(${TYPE}): bool`, (a: CelQuantity, b: CelQuantity) => a.amount > b.amount)
    .registerFunction(`${TYPE}.isLessThan(${TYPE}): bool`, (a: CelQuantity, b: CelQuantity) => a.amount < b.amount)
    .registerFunction(`${TYPE}.compareTo(${TYPE}): int`, compare)
    .registerFunction(
      `${TYPE}.add(${TYPE}): ${TYPE}`,
      (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.amount + b.amount),
    )
    .registerFunction(`${TYPE}.add(int): ${TYPE}`, (a: CelQuantity, b: bigint) => new CelQuantity(a.amount + b * UNIT))
    .registerFunction(
      `${TYPE}.sub(${TYPE}): ${TYPE}`,
      (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.amount - b.amount),
    )
    .registerFunction(`${TYPE}.sub(int): ${TYPE}`, (a: CelQuantity, b: bigint) => new CelQuantity(a.amount - b * UNIT));
}

function read(text: string): CelQuantity | undefined {
  try {
    return new CelQuantity(parseQuantity(text));
  } catch {
    return undefined;
  }
}
