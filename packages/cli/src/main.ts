import { homedir } from "node:os";
import { describeError, type ErrorType, FjordError, silentLogger, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import type { CommandContext } from "./command-line/command-context.ts";
import { addCordon } from "./commands/cordon.ts";
import { addOffload } from "./commands/offload.ts";
import { addPair } from "./commands/pair.ts";
import { addPeer } from "./commands/peer.ts";
import { addSites } from "./commands/sites.ts";
import { addStatus } from "./commands/status.ts";
import { addUnoffload } from "./commands/unoffload.ts";
import { addUnpeer } from "./commands/unpeer.ts";
import { FJORD_VERSION } from "./version.ts";

const interrupt = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => interrupt.abort(new Error("interrupted")));

const program = new Command("fjord")
  .description("One computing continuum out of many Kubernetes clusters.")
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
  logger: silentLogger,
  print: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
};
for (const add of [addPair, addPeer, addUnpeer, addSites, addStatus, addOffload, addUnoffload, addCordon])
  add(program, context);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else report(error);
}

/** A mistake or a known failure is a message and advice; only what nobody foresaw shows where it happened. */
function report(error: unknown): void {
  process.exitCode = 1;
  if (interrupt.signal.aborted) {
    process.stderr.write("interrupted\n");
    return;
  }
  process.stderr.write(`error: ${describeError(error)}\n`);
  const { advice } = (error instanceof FjordError ? error.constructor : {}) as Partial<ErrorType<string>>;
  const more = advice ?? (error instanceof Error && !("syscall" in error) ? error.stack : undefined);
  if (more !== undefined) process.stderr.write(`${more}\n`);
}
