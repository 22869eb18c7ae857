import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lastWords } from "@fjord/base";
import type { Command } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";
import { runProgram } from "../command-line/run-program.ts";
import { NoTestbed } from "../errors.ts";

/** Beside this package in a checkout; what is released does not have it. */
const program = fileURLToPath(new URL("../../../testbed/src/cli.ts", import.meta.url));

export function addTestbed(root: Command, context: CommandContext): void {
  const command = root
    .enablePositionalOptions()
    .command("testbed")
    .description("start sites on this machine to try things on: all that follows is the test bed's")
    .argument("[words...]", "what the test bed is asked for; `fjord testbed --help` lists it")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions();
  command.action(async (words: readonly string[]) => {
    const file = context.env.FJORD_TESTBED ?? program;
    if (existsSync(file))
      return context.setExitCode(await runProgram(spawn, process.execPath, [file, ...words], context));
    const problem = new NoTestbed({ looked: file });
    if (!words.some((word) => word === "--help" || word === "-h")) throw problem;
    context.print(`${command.helpInformation()}\n${lastWords(problem).replace(/^error: the/, "The")}`);
  });
}
