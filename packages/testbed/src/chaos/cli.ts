// `npm run chaos`: users, and trouble, on three sites; then everything has to be as the users asked.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError, systemClock } from "@fjord/base";
import { Command, CommanderError } from "commander";
import { describeProgress, ensurePrograms } from "../binaries/index.ts";
import { startTestBed } from "../testing.ts";
import { runChaos } from "./chaos.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const interrupt = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => interrupt.abort(new Error("interrupted")));

const program = new Command("chaos")
  .description(
    "Random kills, pauses and cuts under a stream of wishes on three sites whose clocks differ, and then full convergence.",
  )
  .option("--minutes <n>", "how long trouble goes on", Number, 30)
  .option("--seed <n>", "repeats the steps of an earlier run", Number, Math.floor(Math.random() * 2 ** 31))
  .option("--keep <folder>", "where logs and steps of a failed run are kept", join(root, ".fjord", "chaos"))
  .exitOverride()
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else {
    process.exitCode = 1;
    process.stderr.write(`error: ${describeError(error)}\n`);
  }
}

async function run({ minutes, seed, keep }: { minutes: number; seed: number; keep: string }): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const progress = (event: Parameters<typeof describeProgress>[0]) => say(describeProgress(event));
  await ensurePrograms({ env: process.env, progress, signal: interrupt.signal });
  say(`seed ${seed}, ${minutes} minutes`);
  const folder = join(keep, String(seed));
  const { findings, figures } = await runChaos({
    seed,
    ms: minutes * 60_000,
    clocksApart: true,
    startBed: () => startTestBed({ sites: 3, simulatedNodes: 2, components: "all", signal: interrupt.signal }),
    keep: folder,
    clock: systemClock,
    random: Math.random,
    signal: interrupt.signal,
    say,
  });
  for (const [name, value] of Object.entries(figures)) say(`${name}: ${JSON.stringify(value)}`);
  if (findings.length === 0) return say("everything is as it was asked for, and nothing is left");
  process.exitCode = 1;
  say(
    `${findings.length} findings; logs and steps are in ${folder}. Again: npm run chaos -- --seed ${seed} --minutes ${minutes}`,
  );
}
