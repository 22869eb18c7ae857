import type { ConformanceTarget } from "./target.ts";

/** What a run of a suite gave; names are in order, so that two results can be compared as text. */
export interface ConformanceResult {
  readonly target: ConformanceTarget;
  /** How many specs were run: those that passed and those that failed. */
  readonly run: number;
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Selected, and then found not to apply by themselves. */
  readonly skipped: readonly string[];
  /** The first line of why, by name of a failed or skipped spec. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly seconds: number;
}

/** Results of the same target as one. */
export function joined([first, ...rest]: readonly [ConformanceResult, ...ConformanceResult[]]): ConformanceResult {
  return rest.reduce(
    (sum, one) => ({
      target: sum.target,
      run: sum.run + one.run,
      passed: [...sum.passed, ...one.passed].sort(),
      failed: [...sum.failed, ...one.failed].sort(),
      skipped: [...sum.skipped, ...one.skipped].sort(),
      reasons: { ...sum.reasons, ...one.reasons },
      seconds: sum.seconds + one.seconds,
    }),
    first,
  );
}

/** What is read of one spec in ginkgo's JSON report. */
interface SpecReport {
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeText?: string;
  readonly LeafNodeType?: string;
  readonly State?: string;
  readonly Failure?: { readonly Message?: string };
}

/** The result in the text of a report that ginkgo wrote with --json-report. */
export function resultOf(report: string, target: ConformanceTarget, seconds: number): ConformanceResult {
  const suites = JSON.parse(report) as { SpecReports?: readonly SpecReport[] | null }[];
  const specs = suites.flatMap(({ SpecReports }) => SpecReports ?? []);
  const reasons: Record<string, string> = {};
  const passed: string[] = [];
  const failed: string[] = [];
  const skipped: string[] = [];
  for (const spec of specs) {
    if (!wasSelected(spec)) continue;
    const name = nameOf(spec);
    const isSpec = spec.LeafNodeType === "It";
    if (spec.State === "passed") {
      if (isSpec) passed.push(name);
      continue;
    }
    (spec.State === "skipped" || spec.State === "pending" ? skipped : failed).push(name);
    reasons[name] = firstLine(spec.Failure?.Message ?? `${spec.State}`);
  }
  for (const names of [passed, failed, skipped]) names.sort();
  return { target, run: passed.length + failed.length, passed, failed, skipped, reasons, seconds };
}

/** Specs that were not selected are reported as skipped too, but without a word why. */
function wasSelected({ State, Failure }: SpecReport): boolean {
  return State !== undefined && (State !== "skipped" || (Failure?.Message ?? "") !== "");
}

function nameOf({ ContainerHierarchyTexts, LeafNodeText, LeafNodeType }: SpecReport): string {
  const texts = [...(ContainerHierarchyTexts ?? []), LeafNodeText ?? ""].filter((text) => text !== "");
  return texts.length > 0 ? texts.join(" ") : `[${LeafNodeType}]`;
}

function firstLine(text: string): string {
  const line = text.split("\n").find((each) => each.trim() !== "") ?? "no reason given";
  return line.length > 300 ? `${line.slice(0, 299)}…` : line.trim();
}

/** What passes there and not here: the specs in which `ours` falls behind `theirs`. */
export function behind(ours: ConformanceResult, theirs: Pick<ConformanceResult, "passed">): string[] {
  const passed = new Set(ours.passed);
  const ran = new Set([...ours.passed, ...ours.failed, ...ours.skipped]);
  return theirs.passed.filter((name) => ran.has(name) && !passed.has(name));
}
