import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";
import { type Logger, lastWords } from "@fjord/base";
import { Command, CommanderError } from "commander";
import { addBinaries } from "./commands/binaries.ts";
import { addCompletion } from "./commands/completion.ts";
import type { CommandContext } from "./commands/context.ts";
import { addDown } from "./commands/down.ts";
import { addLoadImage } from "./commands/load-image.ts";
import { addLogs } from "./commands/logs.ts";
import { addNetwork } from "./commands/network.ts";
import { addProcesses } from "./commands/processes.ts";
import { addStatus } from "./commands/status.ts";
import { addUp } from "./commands/up.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const interrupt = new AbortController();
let exitCode = 0;

const styled = (style: "dim" | "yellow" | "red", text: string) => styleText(style, text, { stream: process.stderr });
const say = (text: string) => void process.stderr.write(`${text}\n`);
const line = (message: string, fields: Record<string, unknown> = {}) =>
  say(
    `${message}${Object.entries(fields)
      .map(([name, value]) => ` ${styled("dim", `${name}=`)}${value}`)
      .join("")}`,
  );
const log: Logger = {
  debug() {},
  info: line,
  warn: (message, fields) => line(styled("yellow", message), fields),
  error: (message, fields) => line(styled("red", message), fields),
};

const context: CommandContext = {
  env: process.env,
  uid: process.getuid?.(),
  defaultDirectory: join(root, ".fjord", "testbed"),
  signal: interrupt.signal,
  log,
  out: (text) => void process.stdout.write(`${text}\n`),
  progress: say,
  setExitCode(code) {
    exitCode = code;
  },
};

// A pipe that its reader has closed, as `| head` does, is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  interrupt.abort();
});

// Without a reader there is nobody to tell; the command's work is wanted all the same.
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    if (interrupt.signal.aborted) return;
    exitCode = code;
    interrupt.abort(new Error("interrupted"));
  });
}

/** npm changes to the repository's root; a path is meant from where the user stands. */
const fromHere = (path: string) => resolve(process.env.INIT_CWD ?? process.cwd(), path);

const program = new Command("testbed")
  .description("Real Kubernetes sites on this machine, and the network between them.")
  .option("--directory <path>", "where the test bed is kept", fromHere, context.defaultDirectory)
  .showSuggestionAfterError()
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride();

const commands = [
  addUp,
  addStatus,
  addDown,
  addProcesses,
  addLogs,
  addNetwork,
  addLoadImage,
  addBinaries,
  addCompletion,
];
for (const add of commands) add(program, context);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) exitCode = error.exitCode;
  else if (interrupt.signal.aborted) say("Interrupted");
  else report(error);
}
process.exitCode = exitCode;

function report(error: unknown): void {
  exitCode = 1;
  say(
    lastWords(error)
      .trimEnd()
      .replace(/^error:/, styled("red", "error:")),
  );
}
