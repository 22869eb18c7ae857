import { homedir } from "node:os";
import { setFlagsFromString } from "node:v8";
import { describeError, type ErrorType, FjordError, type LogFields, type Logger, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import { addCompletion } from "./command-line/completion-command.ts";
import { addReset } from "./command-line/reset-command.ts";
import { addRun, type CommandContext } from "./command-line/run-command.ts";
import { addSimulate } from "./command-line/simulate-command.ts";
import { addVersion } from "./command-line/version-command.ts";
import { FJORD_VERSION } from "./version.ts";

// The HTTP parser is WebAssembly: compiling it a second time, for speed that nobody needs here, costs 10 MB for good.
for (const flag of ["--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]) setFlagsFromString(flag);

const interrupt = new AbortController();
const say = (level: string, message: string, fields: LogFields = {}) => {
  const values = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  process.stderr.write(`${new Date().toISOString()} ${level} ${message}${values.join("")}\n`);
};
const logger: Logger = {
  debug: (message, fields) => {
    if (process.env.FJORD_LOG === "debug") say("debug", message, fields);
  },
  info: (message, fields) => say("info ", message, fields),
  warn: (message, fields) => say("warn ", message, fields),
  error: (message, fields) => say("error", message, fields),
};

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => interrupt.abort(new Error("interrupted")));

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
};
addRun(program, context);
addReset(program, context);
addSimulate(program, context);
addVersion(program);
addCompletion(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else report(error);
}

/** A mistake or a known failure is a message and advice; only what nobody foresaw shows where it happened. */
function report(error: unknown): void {
  process.exitCode = 1;
  process.stderr.write(`error: ${describeError(error)}\n`);
  const { advice } = (error instanceof FjordError ? error.constructor : {}) as Partial<ErrorType<string>>;
  const more = advice ?? (error instanceof Error && !("syscall" in error) ? error.stack : undefined);
  if (more !== undefined) process.stderr.write(`${more}\n`);
}
