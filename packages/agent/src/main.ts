import { homedir } from "node:os";
import { endFailed, interruption, programLogger, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import type { CommandContext } from "./command-line/command-context.ts";
import { addGateway } from "./command-line/gateway-command.ts";
import { addInstall } from "./command-line/install-command.ts";
import { addRun } from "./command-line/run-command.ts";
import { FJORD_VERSION } from "./version.ts";

// Small buffers share a slab, which is there for as long as the last of them: of Node's 64 KiB each, many are held for little.
Buffer.poolSize = 8 * 1024;

const interrupt = interruption(process);
const logger = programLogger(process);
const program = new Command("fjord-agent")
  .description("The agent of a site: shares the site's Kubernetes with others, and theirs with it.")
  .version(FJORD_VERSION)
  .showSuggestionAfterError()
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride();
const context: CommandContext = {
  env: process.env,
  home: homedir(),
  signal: interrupt.signal,
  clock: systemClock,
  random: Math.random,
  logger,
  print: (text) => void process.stdout.write(text),
};
addRun(program, context);
addInstall(program, context);
addGateway(program, context);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else endFailed(process, error);
}
