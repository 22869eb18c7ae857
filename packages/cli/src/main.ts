import { homedir } from "node:os";
import { styleText } from "node:util";
import { failureOf, interruption, lastWords, silentLogger, systemClock } from "@fjord/base";
import { CommanderError } from "commander";
import type { CommandContext } from "./command-line/command-context.ts";
import { addCommonOptions } from "./command-line/common-options.ts";
import { FjordCommand, showHelp } from "./command-line/fjord-command.ts";
import { asksForJson, readWords } from "./command-line/words.ts";
import { neededFor } from "./commands/index.ts";
import type { Output } from "./output/format.ts";
import { escaped, shown } from "./output/terminal-text.ts";

const interrupt = interruption(process);
// A pipe that its reader has closed, as `| head` does, is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return interrupt.abort(error);
  process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
  process.exit(1);
});

const typed = readWords(process.argv.slice(2));
const { words, asked, quiet } = typed;
const program = addCommonOptions(new FjordCommand("fjord"));
program
  // What `fjord` takes; what a group of commands takes by itself is no option of those in it.
  .configureHelp({
    ...program.configureHelp(),
    showGlobalOptions: true,
    visibleGlobalOptions: (command) => (command === program ? [] : program.createHelp().visibleOptions(program)),
  })
  .showSuggestionAfterError()
  // What is wrong with the words is told below, as all errors are.
  .configureOutput({ outputError: () => {} })
  .exitOverride();
let isForScript = asksForJson(typed);
program.hook("preAction", (_, command) => {
  isForScript = (command.opts() as { output?: Output }).output?.format === "json";
  // As a script's variable is that was never set: meant is something else.
  const empty = command.registeredArguments.find((each, at) => !each.variadic && command.args[at] === "");
  if (empty !== undefined) command.error(`error: ${empty.name().toUpperCase()} is empty`);
});
/** Ends of commander's that are no mistakes: help and the version were asked for, and printed. */
const ANSWERED = ["commander.help", "commander.helpDisplayed", "commander.version"];
const context: CommandContext = {
  env: process.env,
  home: homedir(),
  signal: interrupt.signal,
  clock: systemClock,
  random: Math.random,
  logger: silentLogger,
  print: (text) => void process.stdout.write(text),
  note: (text) => void (quiet || process.stderr.write(shown(text))),
  warn: (text) => void process.stderr.write(shown(text)),
  // Whatever FORCE_COLOR says: a file or a pipe is no terminal.
  paint: (style, text) => (process.stdout.isTTY ? styleText(style, text, { stream: process.stdout }) : text),
  isTerminal: process.stdout.isTTY === true,
  setExitCode: (code) => {
    process.exitCode = code;
  },
};

try {
  for (const { load } of neededFor(asked)) (await load())(program, context);
  if (asked === "help") showHelp(program, words.slice(1));
  await program.parseAsync(words, { from: "user" });
} catch (error) {
  if (!(error instanceof CommanderError)) report(error);
  else if (ANSWERED.includes(error.code)) process.exitCode = error.exitCode;
  else report(await wrongUsage(error));
}

async function wrongUsage({ message }: CommanderError): Promise<Error> {
  const { WrongUsage } = await import("./errors.ts");
  return new WrongUsage({ problem: message.replace(/^error: /, "").replaceAll("\n", " ") });
}

function report(error: unknown): void {
  process.exitCode = 1;
  if (interrupt.signal.aborted) {
    if (interrupt.signal.reason?.code === "EPIPE") return;
    process.exitCode = 130;
    process.stderr.write("interrupted\n");
    return;
  }
  if (isForScript) {
    process.stderr.write(`${escaped(JSON.stringify({ error: failureOf(error) }, undefined, 2))}\n`);
    return;
  }
  const red = process.stderr.isTTY ? styleText("red", "error:", { stream: process.stderr }) : "error:";
  process.stderr.write(shown(lastWords(error)).replace(/^error:/, red));
}
