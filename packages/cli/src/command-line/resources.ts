import { isCounted, isWhole } from "@fjord/api";
import { InvalidValue } from "../errors.ts";

export interface ResourceFlags {
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: string;
  readonly resource: readonly string[];
}

const quantity = /^\d+(\.\d+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;

/** By the name of the resource; null where it is asked for no longer. */
export type Changes = Readonly<Record<string, string | null>>;

/** What an option says to ask for nothing in particular of a resource. */
const NONE = "none";

/** The amounts that the flags ask for. */
export function resourcesOf(flags: ResourceFlags): Changes {
  const others = flags.resource.map((text) => {
    const [name = "", amount = "", ...rest] = text.split("=");
    if (name === "" || amount === "" || rest.length > 0)
      throw new InvalidValue({ option: "--resource", value: text, reason: "it must be name=amount" });
    return [name, amount] as const;
  });
  const named = [["cpu", flags.cpu] as const, ["memory", flags.memory] as const, ["pods", flags.pods] as const];
  const amounts = [
    ...named.flatMap(([name, amount]) => (amount === undefined ? [] : [[name, amount] as const])),
    ...others,
  ];
  for (const [index, [name, value]] of amounts.entries()) {
    // Which of the two is meant is not for us to guess: the contract would be another one.
    const other = amounts.slice(0, index).find(([before]) => before === name);
    if (other !== undefined)
      throw new InvalidValue({ option: optionFor(name), value, reason: `${other[1]} was asked for too` });
    if (value !== NONE && isCounted(name) && !isWhole(value))
      throw new InvalidValue({ option: optionFor(name), value, reason: "it is counted: it must be a whole number" });
    if (value !== NONE && !quantity.test(value))
      throw new InvalidValue({ option: optionFor(name), value, reason: "it must be an amount such as 4, 500m or 8Gi" });
    if (value !== NONE && Number.parseFloat(value) === 0)
      throw new InvalidValue({ option: optionFor(name), value, reason: `\`${NONE}\` asks for none of it any more` });
  }
  return Object.fromEntries(amounts.map(([name, value]) => [name, value === NONE ? null : value]));
}

function optionFor(resource: string): string {
  return ["cpu", "memory", "pods"].includes(resource) ? `--${resource}` : `--resource ${resource}`;
}

/** What is asked for when these are changed: what is not named stays as it was. */
export function withChanges<Amount>(
  before: Readonly<Record<string, Amount>>,
  changes: Changes,
): Record<string, Amount | string> {
  const after = Object.entries<Amount | string | null>({ ...before, ...changes });
  return Object.fromEntries(after.filter((entry): entry is [string, Amount | string] => entry[1] !== null));
}

/** `cpu=4,memory=8Gi`. */
export function amountsText(amounts: Readonly<Record<string, unknown>>): string {
  return Object.entries(amounts)
    .map(([name, amount]) => `${name}=${amount}`)
    .join(",");
}
