import type { Command } from "commander";
import { FJORD_VERSION } from "../version.ts";

/** What the program itself says and takes, whatever the command. */
export function addCommonOptions(program: Command): Command {
  return program
    .description("One computing continuum out of many Kubernetes clusters.")
    .version(FJORD_VERSION)
    .option("-q, --quiet", "say nothing but what was asked for: no progress");
}
