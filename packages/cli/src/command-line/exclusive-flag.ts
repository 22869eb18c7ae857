import type { Command } from "commander";
import { WrongUsage } from "../errors.ts";

/** Refuses `--NAME` together with `--no-NAME`, of which commander takes the last one. */
export function exclusiveFlag(command: Command, name: string): Command {
  let before: string | undefined;
  for (const each of [name, `no-${name}`])
    command.on(`option:${each}`, () => {
      if (before !== undefined && before !== each)
        throw new WrongUsage({ problem: `--${name} and --no-${name} say the opposite: leave one of the two out` });
      before = each;
    });
  return command;
}
