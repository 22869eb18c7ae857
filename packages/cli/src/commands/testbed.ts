import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { lastWords } from "@fjord/base";
import type { Command } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";
import { runProgram } from "../command-line/run-program.ts";
import { NoTestbed } from "../errors.ts";

const PROGRAM = "packages/testbed/src/cli.ts";

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
    const file = context.env.FJORD_TESTBED ?? testbedAbove(import.meta.dirname);
    if (file !== undefined && existsSync(file))
      return context.setExitCode(await runProgram(spawn, process.execPath, [file, ...words], context));
    const problem = new NoTestbed({ looked: file ?? `${PROGRAM} above ${import.meta.dirname}` });
    if (!words.some((word) => word === "--help" || word === "-h")) throw problem;
    context.print(`${command.helpInformation()}\n${lastWords(problem).replace(/^error: the/, "The")}`);
  });
}

/** In the checkout that this was started or built in; what is released has none. */
function testbedAbove(folder: string): string | undefined {
  const file = join(folder, PROGRAM);
  if (existsSync(file)) return file;
  return dirname(folder) === folder ? undefined : testbedAbove(dirname(folder));
}
