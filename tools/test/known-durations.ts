import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { FileResult } from "./test-files.ts";
import { nameOf, type TestRun } from "./test-runs.ts";

/** Seconds by the name of a run. */
export type Durations = Readonly<Record<string, number>>;

/** What took more than a minute on two processors, for whoever has run nothing yet. */
export const MEASURED: Durations = {
  "packages/testbed/src/chaos/chaos.integration.test.ts": 234,
  "packages/testbed/src/acceptance/sites.integration.test.ts": 159,
  "packages/testbed/src/acceptance/agents.integration.test.ts": 119,
  "packages/testbed/src/acceptance/containers.integration.test.ts": 108,
  "packages/cli/src/cli.integration.test.ts": 96,
  "packages/cli/src/daily-use.integration.test.ts": 77,
  "packages/testbed/src/acceptance/shared-lanes.integration.test.ts": 73,
  "packages/cli/src/install.integration.test.ts": 65,
};
/** Of what nothing is known: whole beds and pages take longest, and several files longer than one. */
const GUESSED = { long: 62, several: 61, other: 30 };

/** The longest first: what begins last must not be what everything waits for at the end. Of those as long the order stays. */
export function longestFirst(runs: readonly TestRun[], known: Durations): TestRun[] {
  const secondsOf = (run: TestRun) => known[nameOf(run)] ?? MEASURED[nameOf(run)] ?? guess(run);
  return runs.toSorted((a, b) => secondsOf(b) - secondsOf(a));
}

/** What the last runs on this machine took; nothing where the file is not there or not to be read: it is no more than an order. */
export function readDurations(file: string): Durations {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Durations;
  } catch {
    return {};
  }
}

/** What has failed may have ended early, or late: it tells nothing. */
export function keepDurations(file: string, results: readonly FileResult[]): void {
  const passed = results.filter(({ ok }) => ok).map((result) => [result.file, Math.round(result.seconds)]);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...readDurations(file), ...Object.fromEntries(passed) }));
}

function guess(run: TestRun): number {
  if (typeof run !== "string") return GUESSED.several;
  return /^(packages\/testbed|tools)\//.test(run) ? GUESSED.long : GUESSED.other;
}
