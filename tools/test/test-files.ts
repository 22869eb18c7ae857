import { stripVTControlCharacters } from "node:util";
import { runNode } from "./run-node.ts";

export interface FileResult {
  file: string;
  seconds: number;
  ok: boolean;
  /** Nothing where its end was not reached. */
  counts: Counts | undefined;
  /** What it printed of what failed. */
  failures?: string;
}

/** How much of what a file printed is shown again. */
const MOST_AGAIN = 8_000;

const COUNTED = ["tests", "pass", "fail", "cancelled", "skipped"] as const;
type Counts = Record<(typeof COUNTED)[number], number>;

/**
 * Runs each test file in a process of its own, some at a time, and shows what a file printed once it has ended. A file
 * that does not end is killed and named: the others are not held up by it.
 */
export async function runTestFiles(
  files: string[],
  { cwd, atATime, minutes }: { cwd: string; atATime: number; minutes: number },
): Promise<boolean> {
  const waiting = [...files];
  const results: FileResult[] = [];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      results.push(await runTestFile(file, { cwd, minutes }));
    }
  };
  await Promise.all(Array.from({ length: atATime }, worker));
  // Whoever reads the end of a long output is to find there why it failed.
  for (const { file, failures } of results) if (failures) console.log(`\n✖ ${file}, again:\n${failures}`);
  console.log(`\n${summaryOf(results)}`);
  return results.every(({ ok }) => ok);
}

export interface FileOptions {
  cwd: string;
  minutes: number;
  /** Beside our own environment. */
  env?: Record<string, string>;
}

/** Runs one test file, and shows what it printed once it has ended. */
export async function runTestFile(file: string, { cwd, minutes, env }: FileOptions): Promise<FileResult> {
  const began = performance.now();
  const chunks: Buffer[] = [];
  const { code, timedOut } = await runNode(["--test-reporter=spec", file], {
    cwd,
    minutes,
    ...(env && { env }),
    output: (chunk) => chunks.push(chunk),
  });
  const seconds = (performance.now() - began) / 1000;
  const printed = Buffer.concat(chunks).toString();
  // FORCE_COLOR colours them, terminal or not.
  const counts = countsOf(stripVTControlCharacters(printed));
  const ended = counts !== undefined;
  const ok = code === 0 && ended;
  console.log(`\n${ok ? "✔" : "✖"} ${file} (${seconds.toFixed(1)} s)`);
  console.log(printed.trimEnd());
  if (timedOut) {
    console.log(`✖ ${file}: no end after ${minutes} minutes, killed. The lines above say which tests have ended.`);
  } else if (code === 0 && !ended) {
    console.log(`✖ ${file}: ended without a result.`);
  }
  return { file, seconds, ok, counts, ...(!ok && { failures: failuresOf(printed) }) };
}

/** What the reporter says of failures at its end, or the end of the output where it did not come to that. */
export function failuresOf(printed: string): string {
  const from = printed.lastIndexOf("✖ failing tests:");
  return from === -1 ? printed.slice(-MOST_AGAIN).trim() : printed.slice(from, from + MOST_AGAIN).trim();
}

/** What node:test's reporter says at its end, as `ℹ tests 12`. */
function countsOf(printed: string): Counts | undefined {
  if (!/^ℹ tests \d+$/m.test(printed)) return undefined;
  const count = (name: string) => Number(printed.match(new RegExp(`^ℹ ${name} (\\d+)$`, "m"))?.[1] ?? 0);
  return Object.fromEntries(COUNTED.map((name) => [name, count(name)])) as Counts;
}

function summaryOf(results: FileResult[]): string {
  const total = (name: keyof Counts) => results.reduce((sum, { counts }) => sum + (counts?.[name] ?? 0), 0);
  const slowest = [...results].sort((a, b) => b.seconds - a.seconds).slice(0, 5);
  const failed = results.filter(({ ok }) => !ok);
  return [
    COUNTED.map((name) => `${name} ${total(name)}`).join(", "),
    `slowest files: ${slowest.map(({ file, seconds }) => `${file} ${seconds.toFixed(0)} s`).join(", ")}`,
    ...failed.map(({ file }) => `✖ ${file}`),
  ].join("\n");
}
