/** What one process runs: a file, or several, one after the other. */
export type TestRun = string | readonly string[];

/** Where tests are that drive real Kubernetes. */
export const isIntegration = (file: string): boolean => file.endsWith(".integration.test.ts");

/** So many that a start is little beside them, and few enough that the processors end at the same time. */
const MOST_TOGETHER = 12;

/**
 * Unit tests: of many files the start of a process takes longer than the tests, so those of one package share processes. What a file
 * says at its top for each test, or for the end, would be for those of the others as well, so it is run by itself.
 */
export function unitRuns(files: readonly string[], read: (file: string) => string): TestRun[] {
  const own = files.filter((file) => /^(before|after|mock\.)|\bprocess\.chdir\(/m.test(read(file)));
  const together = byPackage(files.filter((file) => !own.includes(file))).flatMap((all) =>
    // In turn: neighbours that take long are not in the same one.
    evenly(all, Math.ceil(all.length / MOST_TOGETHER)),
  );
  // What takes longest is among these.
  return [...own, ...together];
}

/** Tests on real Kubernetes: those of a package that share a site run in one process, which starts it once. */
export function integrationRuns(files: readonly string[], read: (file: string) => string): TestRun[] {
  const sharing = files.filter((file) => /\bsharedTestSite\(/.test(read(file)));
  return [...byPackage(sharing), ...files.filter((file) => !sharing.includes(file))];
}

/** As people call it. */
export function nameOf(run: TestRun): string {
  if (typeof run === "string") return run;
  const [first = "", ...others] = run;
  return others.length === 0 ? first : `${packageOf(first)}: ${run.map((file) => bare(file)).join(", ")}`;
}

function byPackage(files: readonly string[]): string[][] {
  return Object.values(Object.groupBy(files, packageOf)).filter((each) => each !== undefined);
}

function packageOf(file: string): string {
  return file.split("/", file.startsWith("packages/") ? 2 : 1).join("/");
}

function bare(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1).replace(/(\.integration)?\.test\.ts$/, "");
}

function evenly(files: readonly string[], count: number): string[][] {
  return Array.from({ length: count }, (_, index) => files.filter((_file, at) => at % count === index));
}
