import { InvalidValue } from "../errors.ts";

export interface ResourceFlags {
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: string;
  readonly resource: readonly string[];
}

const quantity = /^\d+(\.\d+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;

/** The amounts that the flags ask for. */
export function resourcesOf(flags: ResourceFlags): Record<string, string> {
  const others = flags.resource.map((text) => {
    const [name = "", amount = ""] = text.split("=");
    if (name === "") throw new InvalidValue({ option: "--resource", value: text, reason: "it must be name=amount" });
    return [name, amount] as const;
  });
  const named = [["cpu", flags.cpu] as const, ["memory", flags.memory] as const, ["pods", flags.pods] as const];
  const amounts = [
    ...named.flatMap(([name, amount]) => (amount === undefined ? [] : [[name, amount] as const])),
    ...others,
  ];
  for (const [name, value] of amounts) {
    if (!quantity.test(value))
      throw new InvalidValue({ option: `--${name}`, value, reason: "it must be an amount such as 4, 500m or 8Gi" });
  }
  return Object.fromEntries(amounts);
}
