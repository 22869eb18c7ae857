import { interruption, lastWords, programLogger } from "@fjord/base";
import { Command, CommanderError } from "commander";
import { addRun } from "./command-line/run-command.ts";

const interrupt = interruption(process);
const program = new Command("microkube")
  .description("A Kubernetes-compatible control plane in one small process.")
  .showSuggestionAfterError()
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride();
addRun(program, {
  signal: interrupt.signal,
  logger: programLogger(process),
  print: (text) => void process.stdout.write(`${text}\n`),
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else {
    process.exitCode = 1;
    process.stderr.write(lastWords(error));
  }
}
