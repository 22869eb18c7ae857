import { type Command, Help, type Option } from "commander";
import { FJORD_VERSION } from "../version.ts";

/** What the program itself says and takes, whatever the command. */
export function addCommonOptions(program: Command): Command {
  return program
    .description("One computing continuum out of many Kubernetes clusters.")
    .version(FJORD_VERSION)
    .configureHelp({ optionDescription })
    .option("-q, --quiet", "say nothing but what was asked for: no progress");
}

/** With what it is by default, unless its words tell that, or that is nothing. */
function optionDescription(option: Option): string {
  const { description, defaultValue, defaultValueDescription, argChoices } = option;
  const isNothing = defaultValue === false || (Array.isArray(defaultValue) && defaultValue.length === 0);
  const isTold = description.includes("(default: ") || (isNothing && defaultValueDescription === undefined);
  return isTold && argChoices === undefined ? description : new Help().optionDescription(option);
}
