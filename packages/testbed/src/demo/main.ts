// Fjord on this machine, from nothing to an application over five sites, to watch and to play with.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";
import { aborted, lastWords, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import { removeIfEmpty } from "../leftovers.ts";
import { Demo } from "./demo.ts";
import { CLOUD, pageOf } from "./demo-plan.ts";
import { nextSteps } from "./next-steps.ts";
import { Steps } from "./steps.ts";
import { playTour } from "./tour.ts";

const defaultDirectory = fileURLToPath(new URL("../../../../.fjord/demo", import.meta.url));
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
  readonly tour: boolean;
  readonly kubernetes: boolean;
  readonly directory: string;
}

const write = (text: string) => void process.stdout.write(text);

const program = new Command("demo")
  .description("Five sites on this machine with an application over them. Ctrl-C ends it and leaves nothing.")
  .option("--tour", "play and check what there is to see: a site cut off, bursts, and all healed; then end", false)
  .option("--once", "end when everything was shown, instead of waiting for Ctrl-C", false)
  .option("--kubernetes", "the same on real Kubernetes clusters with real containers; needs Linux and root", false)
  .option("--directory <path>", "where everything is kept meanwhile", defaultDirectory)
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

async function run(flags: DemoFlags): Promise<void> {
  const steps = new Steps({ write, isTerminal: process.stdout.isTTY === true, clock: systemClock });
  try {
    await show(flags, steps);
  } finally {
    // What others chose is theirs.
    if (flags.directory === defaultDirectory) removeIfEmpty(dirname(defaultDirectory));
  }
}

async function show({ once, tour, kubernetes, directory }: DemoFlags, steps: Steps): Promise<void> {
  const { signal } = interrupt;
  const began = systemClock.now();
  const substrate = kubernetes ? "kubernetes" : "embedded";
  await using demo = await Demo.start({ directory, substrate, env: process.env, steps, clock: systemClock, signal });
  const megabytes = (demo.memory / 1e6).toFixed(0);
  steps.say(`Ready after ${secondsSince(began)} s; the five sites take ${megabytes} MB together`);
  if (tour) {
    await playTour(demo, { steps, clock: systemClock });
    return steps.say(`\nAll scenes were as they should be: done after ${secondsSince(began)} s`);
  }
  const page = pageOf(demo.site(CLOUD).plan);
  const where = { file: demo.shell.file, url: demo.url, page, kubectl: demo.hasKubectl };
  steps.say(`\nWhat to try next. ${nextSteps(where)}`);
  if (!once) await waitForEnd(steps);
}

async function waitForEnd(steps: Steps): Promise<void> {
  steps.say(`Here until ${styleText("bold", "Ctrl-C")}`);
  const alive = setInterval(() => {}, 2 ** 30);
  await aborted(interrupt.signal);
  clearInterval(alive);
  process.exitCode = 0;
  steps.say("\nRemoving everything");
}

function secondsSince(began: number): string {
  return ((systemClock.now() - began) / 1000).toFixed(1);
}

function report(error: unknown): void {
  process.exitCode = 1;
  process.stderr.write(lastWords(error).replace(/^error:/, styleText("red", "error:", { stream: process.stderr })));
}
