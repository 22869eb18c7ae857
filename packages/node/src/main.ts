import { homedir } from "node:os";
import { setFlagsFromString } from "node:v8";
import { endFailed, interruption, programLogger, RecentLog, systemClock } from "@fjord/base";
import { addCompletion } from "@fjord/base/shell-completion";
import { Command, CommanderError } from "commander";
import { addReset } from "./command-line/reset-command.ts";
import { addRun, type CommandContext } from "./command-line/run-command.ts";
import { addSimulate } from "./command-line/simulate-command.ts";
import { addVersion } from "./command-line/version-command.ts";
import { FJORD_VERSION } from "./version.ts";

// The HTTP parser is WebAssembly: compiling it a second time, for speed that nobody needs here, costs 10 MB for good.
for (const flag of ["--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag);

const interrupt = interruption(process);
const recent = new RecentLog();
const write = (line: string) => {
  recent.add(line);
  process.stderr.write(line);
};
const logger = programLogger({ env: process.env, stderr: { write } });
const program = new Command("fjord-node")
  .description("A small kubelet: runs the pods of a Kubernetes API on this machine.")
  .version(FJORD_VERSION)
  .showSuggestionAfterError()
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride();
const context: CommandContext = {
  env: process.env,
  home: homedir(),
  isRoot: process.getuid?.() === 0,
  signal: interrupt.signal,
  clock: systemClock,
  random: Math.random,
  logger,
  ownLog: () => recent.text,
};
addRun(program, context);
addReset(program, context);
addSimulate(program, context);
addVersion(program);
addCompletion(program, (script) => process.stdout.write(script));

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else endFailed(process, error);
}
