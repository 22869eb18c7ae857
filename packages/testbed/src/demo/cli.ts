// `npm run demo`: Fjord on this machine, from nothing to a Deployment over two clusters, to watch and to play with.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";
import { aborted, describeError, type ErrorType, FjordError, silentLogger, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import { removeIfEmpty } from "../leftovers.ts";
import { Registry } from "../registry.ts";
import { startDemo } from "./demo.ts";
import { Steps } from "./steps.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const interrupt = new AbortController();
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    if (interrupt.signal.aborted) return;
    process.exitCode = code;
    interrupt.abort(new Error("interrupted"));
  });
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    interrupt.abort(new Error("nobody reads"));
  });
}

interface DemoFlags {
  readonly once: boolean;
  readonly simulated: boolean;
  readonly directory: string;
}

const write = (text: string) => void process.stdout.write(text);

const program = new Command("demo")
  .description("Two clusters on this machine, peered, with a Deployment over both. Ctrl-C ends it and leaves nothing.")
  .option("--once", "end when everything was shown, instead of waiting for Ctrl-C", false)
  .option("--simulated", "simulated nodes, even where containers can run", false)
  .option("--directory <path>", "where everything is kept meanwhile", join(root, ".fjord", "demo"))
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride()
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else if (interrupt.signal.aborted) write("Interrupted: nothing is left\n");
  else report(error);
}

async function run({ once, simulated, directory }: DemoFlags): Promise<void> {
  const { signal } = interrupt;
  const registry = new Registry();
  const steps = new Steps({ write, isTerminal: process.stdout.isTTY === true, clock: systemClock });
  const began = systemClock.now();
  const shared = { env: process.env, uid: process.getuid?.(), registry, log: silentLogger, clock: systemClock };
  try {
    await using _ = await startDemo({ ...shared, directory, simulated, signal, steps });
    const seconds = ((systemClock.now() - began) / 1000).toFixed(0);
    if (once) return steps.say(`Done after ${seconds} s`);
    steps.say(`Ready after ${seconds} s, and here until ${styleText("bold", "Ctrl-C")}`);
    const alive = setInterval(() => {}, 2 ** 30);
    await aborted(signal);
    clearInterval(alive);
    process.exitCode = 0;
    steps.say("\nRemoving everything");
  } finally {
    removeIfEmpty(dirname(directory));
  }
}

/** A mistake or a known failure is a message and advice; only what nobody foresaw shows where it happened. */
function report(error: unknown): void {
  process.exitCode = 1;
  process.stderr.write(`${styleText("red", "error:", { stream: process.stderr })} ${describeError(error)}\n`);
  const { advice } = (error instanceof FjordError ? error.constructor : {}) as Partial<ErrorType<string>>;
  const more = advice ?? (error instanceof Error && !("syscall" in error) ? error.stack : undefined);
  if (more !== undefined) process.stderr.write(`${more}\n`);
}
