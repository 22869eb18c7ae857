// `npm run bench -- NAME`: runs the benchmark that packages/*/bench/NAME.bench.ts exports.
import { globSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { describeError } from "@fjord/base";
import { Command, InvalidArgumentError } from "commander";
import { describeProgress, ensurePrograms } from "../binaries/index.ts";
import { type Benchmark, BenchmarkSession } from "./benchmark.ts";
import { describeMachine } from "./machine.ts";
import { renderTable } from "./report.ts";

const root = join(import.meta.dirname, "../../../..");
const files = new Map(
  globSync("packages/*/bench/*.bench.ts", { cwd: root }).map((file) => [basename(file, ".bench.ts"), join(root, file)]),
);

const program = new Command("bench")
  .description("Run a named benchmark and print its figures, each beside its baseline from the same run")
  .argument("[name]", `one of: ${[...files.keys()].sort().join(", ")}`)
  .option("--json <file>", "write the records to a file as well")
  .option("--runs <count>", "how often each figure is taken", positiveInteger, 5)
  .option("--strict", "end with status 1 when a bound is missed")
  .action(run);

interface Options {
  json?: string;
  runs: number;
  strict?: boolean;
}

async function run(name: string | undefined, options: Options): Promise<void> {
  const file = name === undefined ? undefined : files.get(name);
  if (file === undefined) {
    return program.error(
      `${name === undefined ? "Name a benchmark" : `There is no benchmark ${name}`}: ${[...files.keys()].sort().join(", ")}`,
    );
  }
  // Found out before the work and not after it.
  const target = options.json === undefined ? undefined : resolve(options.json);
  if (target !== undefined) await (await open(target, "a")).close();
  const { benchmark } = (await import(file)) as { benchmark: Benchmark };
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort(new Error("interrupted")));
  process.once("SIGTERM", () => stop.abort(new Error("terminated")));
  const start = performance.now();
  const say = (message: string) =>
    console.error(`${((performance.now() - start) / 1000).toFixed(1).padStart(7)} s  ${message}`);
  const { programs: sets = [] } = benchmark;
  const { signal } = stop;
  if (sets.length > 0)
    await ensurePrograms({ env: process.env, sets, signal, progress: (event) => say(describeProgress(event)) });
  const session = new BenchmarkSession({
    runs: options.runs,
    machine: describeMachine(),
    date: new Date().toISOString().slice(0, 10),
    signal,
    progress: say,
    recorded: async (records) => {
      if (target !== undefined) await writeFile(target, `${JSON.stringify(records, undefined, 2)}\n`);
    },
  });
  console.error(benchmark.description);
  await benchmark.run(session);
  console.log(renderTable(session.records));
  const missed = session.records.filter((record) => record.holds === false);
  if (missed.length > 0) console.error(`Missed: ${missed.map((record) => record.name).join(", ")}`);
  if (missed.length > 0 && options.strict) process.exitCode = 1;
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number above 0.");
  return value;
}

try {
  await program.parseAsync();
} catch (error) {
  console.error(`bench: ${describeError(error)}`);
  process.exit(1);
}
