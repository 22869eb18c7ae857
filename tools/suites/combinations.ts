import type { FileResult } from "../test/test-files.ts";

/** The liquid core's suites: the folders or files of their tests. */
export const SUITES = {
  acceptance: "packages/testbed/src/acceptance/*.integration.test.ts",
  chaos: "packages/testbed/src/chaos/*.integration.test.ts",
  escape: "packages/continuum/src/peering/proxy/{escape,kube-proxy}.integration.test.ts",
} as const;

export type Suite = keyof typeof SUITES;

/** What consumer and provider run on: `microkube,1.36`. */
export const COMBINATIONS = ["microkube,microkube", "microkube,1.36", "1.36,microkube"];

/** What a suite's beds are to run: the escape suite has a provider alone, and plays its consumers. */
export function substratesFor(suite: Suite, combination: string): string {
  return suite === "escape" ? (combination.split(",").at(-1) ?? combination) : combination;
}

export interface SuiteResult {
  readonly suite: Suite;
  readonly combination: string;
  readonly files: readonly FileResult[];
}

/** Passed and run of each suite on each combination, as a table in Markdown. Skipped tests have not run. */
export function tableOf(results: readonly SuiteResult[]): string {
  const combinations = [...new Set(results.map(({ combination }) => combination))];
  const suites = [...new Set(results.map(({ suite }) => suite))];
  const rows = suites.map((suite) => [
    suite,
    ...combinations.map((combination) => {
      const found = results.find((one) => one.suite === suite && one.combination === combination);
      return found === undefined ? "" : shareOf(found.files);
    }),
  ]);
  const head = ["suite", ...combinations.map((one) => one.replace(",", " to "))];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function shareOf(files: readonly FileResult[]): string {
  const sum = (of: (file: FileResult) => number) => files.reduce((total, file) => total + of(file), 0);
  const passed = sum(({ counts }) => counts?.pass ?? 0);
  const run = sum(({ counts }) => (counts?.tests ?? 0) - (counts?.skipped ?? 0));
  const endless = files.filter(({ counts }) => counts === undefined).length;
  return `${passed} of ${run}${endless === 0 ? "" : `, ${endless} files without an end`}`;
}
