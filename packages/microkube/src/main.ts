import { endFailed, interruption, programLogger } from "@fjord/base";
import { addCompletion } from "@fjord/base/shell-completion";
import { Command, CommanderError } from "commander";
import { addRun } from "./command-line/run-command.ts";
import { KUBERNETES_VERSION } from "./server/version.ts";
import { FJORD_VERSION } from "./version.ts";

const interrupt = interruption(process);
const program = new Command("microkube")
  .description("A Kubernetes-compatible control plane in one small process.")
  .version(`${FJORD_VERSION} (Kubernetes ${KUBERNETES_VERSION})`)
  .showSuggestionAfterError()
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride();
addRun(program, {
  env: process.env,
  signal: interrupt.signal,
  logger: programLogger(process),
  print: (text) => void process.stdout.write(`${text}\n`),
});
addCompletion(program, (script) => process.stdout.write(script), "run");

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else endFailed(process, error);
}
