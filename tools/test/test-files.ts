import { availableParallelism, cpus } from "node:os";
import { stripVTControlCharacters } from "node:util";
import { idleShare, roomOnMachine } from "./processors.ts";
import { runNode } from "./run-node.ts";
import { nameOf, type TestRun } from "./test-runs.ts";

export interface FileResult {
  /** Where it is not the file alone. */
  run?: TestRun;
  /** Its name, or those of several. */
  file: string;
  seconds: number;
  /** Of the processors, by the file and by what it started; undefined where the system does not tell. */
  cpuSeconds?: number | undefined;
  ok: boolean;
  /** Nothing where its end was not reached. */
  counts: Counts | undefined;
  /** What it printed of what failed. */
  failures?: string;
  /** Whether it failed beside others, before it passed alone. */
  unsteady?: boolean;
}

/** How much of what a file printed is shown again. */
const MOST_AGAIN = 8_000;

const COUNTED = ["tests", "pass", "fail", "cancelled", "skipped"] as const;
type Counts = Record<(typeof COUNTED)[number], number>;

export interface TestFilesOptions {
  cwd: string;
  /** How many run in any case. */
  atATime: number;
  /** How many run where those leave processors and memory unused. @default as `atATime` */
  most?: number;
  /** Whether there is room for one more, by what those that run have left over since it was last asked. */
  hasRoom?: () => boolean;
  /** How often that is asked: the last one has to have shown by then what it needs. */
  lookMs?: number;
  /** How many one may take. */
  minutes: number;
  /** Milliseconds that one test may take. @default none but what it says itself */
  testTimeout?: number;
  /** How many that have failed are run once more, alone; where more have failed it is not the others' load. @default 0 */
  again?: number;
  /** Is given what became of all of them. */
  onResults?: (results: readonly FileResult[]) => void;
}

/**
 * Runs each test file, or those that go together, in a process of its own, some at a time, and shows what it printed once it has ended,
 * or, of one alone, at once. One that does not end is killed and named: the others are not held up by it.
 */
export async function runTestFiles(runs: readonly TestRun[], options: TestFilesOptions): Promise<boolean> {
  const { cwd, atATime, minutes, testTimeout, hasRoom = roomOnMachine(), lookMs = 2_000 } = options;
  const began = performance.now();
  const before = cpus();
  const waiting = [...runs];
  const each = { cwd, minutes, ...(testTimeout && { testTimeout }) };
  const results: FileResult[] = [];
  const running = new Set<Promise<void>>();
  const begin = () => {
    const run = runTestFile(waiting.shift() as TestRun, { ...each, alone: runs.length === 1 }).then((result) => {
      running.delete(run);
      results.push(result);
    });
    running.add(run);
  };
  while (waiting.length > 0) {
    if (running.size < atATime) begin();
    else if (await isTime(lookMs, running)) {
      // Asked each time: what was unused before the last one began is of no use to this one.
      const room = hasRoom();
      if (room && running.size < (options.most ?? atATime)) begin();
    }
  }
  await Promise.all(running);
  const idle = idleShare(before, cpus());
  options.onResults?.(results);
  await runAgain(results, options);
  // Whoever reads the end of a long output is to find there why it failed.
  for (const { file, failures } of results) if (failures) console.log(`\n✖ ${file}, again:\n${failures}`);
  console.log(`\n${summaryOf(results, { seconds: (performance.now() - began) / 1000, idle })}`);
  return results.every(({ ok }) => ok);
}

/**
 * Runs those that have failed once more, alone: many tests bound how long something takes, which others on the same
 * processors may well lengthen. What passes then is named all the same: it may be a defect that shows seldom.
 */
async function runAgain(results: FileResult[], { cwd, minutes, again = 0 }: TestFilesOptions): Promise<void> {
  const failed = results.filter(({ ok }) => !ok);
  if (results.length === 1 || failed.length > again) return;
  for (const first of failed) {
    // One that does not end would take as long again.
    if (first.counts === undefined) continue;
    console.log(`\n${first.file} has failed beside others, and is run once more, alone.`);
    const { failures: _, ...second } = await runTestFile(first.run ?? first.file, { cwd, minutes });
    results.splice(results.indexOf(first), 1, { ...first, ...second, ...(second.ok && { unsteady: true }) });
  }
}

/** Waits for so long, or, which gives false, until one of them has ended. */
async function isTime(ms: number, running: ReadonlySet<Promise<void>>): Promise<boolean> {
  const time = Promise.withResolvers<true>();
  const timer = setTimeout(time.resolve, ms, true);
  const first = await Promise.race([time.promise, ...running]);
  clearTimeout(timer);
  return first === true;
}

export interface FileOptions {
  cwd: string;
  minutes: number;
  /** Beside our own environment. */
  env?: Record<string, string>;
  /** Whether what it prints is shown as it comes, as no other file's is. */
  alone?: boolean;
  /** Milliseconds that one test may take. */
  testTimeout?: number;
}

/** Runs one test file, or several in one process, and shows what was printed, once it has ended where it is not alone. */
export async function runTestFile(
  run: TestRun,
  { cwd, minutes, env, alone = false, testTimeout }: FileOptions,
): Promise<FileResult> {
  const began = performance.now();
  const chunks: Buffer[] = [];
  const file = nameOf(run);
  const together = typeof run === "string" ? [run] : ["--test", "--test-isolation=none", ...run];
  const limit = testTimeout === undefined ? [] : [`--test-timeout=${testTimeout}`];
  const { code, timedOut, cpuSeconds } = await runNode(["--test-reporter=spec", ...limit, ...together], {
    cwd,
    minutes,
    ...(env && { env }),
    output: (chunk) => {
      chunks.push(chunk);
      if (alone) process.stdout.write(chunk);
    },
  });
  const seconds = (performance.now() - began) / 1000;
  const printed = Buffer.concat(chunks).toString();
  // FORCE_COLOR colours them, terminal or not.
  const counts = countsOf(stripVTControlCharacters(printed));
  const ended = counts !== undefined;
  const ok = code === 0 && ended;
  console.log(
    `\n${ok ? "✔" : "✖"} ${file} (${seconds.toFixed(1)} s${cpuSeconds === undefined ? "" : `, processor ${cpuSeconds.toFixed(1)} s`})`,
  );
  if (!alone) console.log(printed.trimEnd());
  if (timedOut) {
    console.log(`✖ ${file}: no end after ${minutes} minutes, killed. The lines above say which tests have ended.`);
  } else if (code === 0 && !ended) {
    console.log(`✖ ${file}: ended without a result.`);
  }
  return { run, file, seconds, cpuSeconds, ok, counts, ...(!ok && { failures: failuresOf(printed) }) };
}

/** What the reporter says of failures at its end, or the end of the output where it did not come to that. */
export function failuresOf(printed: string): string {
  const from = printed.lastIndexOf("✖ failing tests:");
  return from === -1 ? printed.slice(-MOST_AGAIN).trim() : printed.slice(from, from + MOST_AGAIN).trim();
}

/** What node:test's reporter says at its end, as `ℹ tests 12`; a test may have shown what another reporter said before. */
function countsOf(printed: string): Counts | undefined {
  if (!/^ℹ tests \d+$/m.test(printed)) return undefined;
  const count = (name: string) =>
    Number([...printed.matchAll(new RegExp(`^ℹ ${name} (\\d+)$`, "gm"))].at(-1)?.[1] ?? 0);
  return Object.fromEntries(COUNTED.map((name) => [name, count(name)])) as Counts;
}

interface WholeRun {
  seconds: number;
  /** The share of their time in which the processors had nothing to do, whoever else was there. */
  idle: number;
}

function summaryOf(results: FileResult[], whole: WholeRun): string {
  const total = (name: keyof Counts) => results.reduce((sum, { counts }) => sum + (counts?.[name] ?? 0), 0);
  const failed = results.filter(({ ok }) => !ok);
  return [
    COUNTED.map((name) => `${name} ${total(name)}`).join(", "),
    `slowest files: ${most(results, ({ seconds: one }) => one)}`,
    ...costOf(results, whole),
    ...results
      .filter(({ unsteady }) => unsteady)
      .map(({ file }) => `unsteady: ${file} failed beside others and passed alone`),
    ...failed.map(({ file }) => `✖ ${file}`),
  ].join("\n");
}

/** What the files took of the processors, where the system tells. */
function costOf(results: FileResult[], { seconds, idle }: WholeRun): string[] {
  const spent = results.reduce((sum, { cpuSeconds = 0 }) => sum + cpuSeconds, 0);
  if (spent === 0) return [];
  const share = (100 * spent) / (seconds * availableParallelism());
  return [
    `costliest files: ${most(results, ({ cpuSeconds = 0 }) => cpuSeconds)}`,
    `processor time: ${spent.toFixed(0)} s in ${seconds.toFixed(0)} s, ${share.toFixed(0)} % of ${availableParallelism()} processors, which were idle for ${(100 * idle).toFixed(0)} %`,
  ];
}

function most(results: FileResult[], of: (result: FileResult) => number): string {
  const first = [...results].sort((a, b) => of(b) - of(a)).slice(0, 8);
  return first.map((result) => `${result.file} ${of(result).toFixed(0)} s`).join(", ");
}
