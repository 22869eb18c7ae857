import { homedir } from "node:os";
import { describeError, type ErrorType, FjordError, type LogFields, type Logger, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import type { CommandContext } from "./command-line/command-context.ts";
import { addInstall } from "./command-line/install-command.ts";
import { addRun } from "./command-line/run-command.ts";
import { FJORD_VERSION } from "./version.ts";

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
