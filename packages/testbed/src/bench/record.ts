/** One figure of a benchmark, as `--json` writes it. */
export interface BenchmarkRecord {
  name: string;
  /** Median over the runs. */
  value: number;
  unit: string;
  /** Median of what it was measured against, in the same run. */
  baseline: number | null;
  /** value / baseline. */
  ratio: number | null;
  /** The middle half of the runs' own ratios, each of a value and the baseline beside it, from four runs on: how far apart they are. */
  spread?: Spread;
  /** The bound that was asked for, in words. */
  expected: string | null;
  holds: boolean | null;
  runs: number;
  /** What the baseline is. */
  against: string | null;
  /** What a reader must not conclude from the figure. */
  notShown: string;
  /** How it was measured, where others of the run were measured alike: told once on the page. */
  settings?: string;
  parts?: FigureParts;
  others?: OtherFigures;
  machine: string;
  /** The day it was measured, as 2030-01-31. */
  date: string;
}

export interface Spread {
  readonly low: number;
  readonly high: number;
}

/** What a figure is made of: one column of a table that several figures share. */
export interface FigureParts {
  /** Heading of the table. */
  readonly table: string;
  readonly column: string;
  readonly values: Readonly<Record<string, number>>;
}

/** What others took, as far as that is known; in words, as it was measured elsewhere. */
export interface OtherFigures {
  /** How it was, above the table that figures with the same words share. */
  readonly note: string;
  readonly figures: Readonly<Record<string, string>>;
}

/** A bound on a figure: on its ratio to the baseline, or on the value itself. */
export interface Bound {
  readonly of: "ratio" | "value";
  readonly atMost?: number;
  readonly atLeast?: number;
}

export function describeBound(bound: Bound): string {
  const parts = [
    bound.atMost === undefined ? [] : [`${bound.of} <= ${bound.atMost}`],
    bound.atLeast === undefined ? [] : [`${bound.of} >= ${bound.atLeast}`],
  ];
  return parts.flat().join(", ");
}

export function boundHolds(bound: Bound, value: number, ratio: number | null): boolean {
  const figure = bound.of === "ratio" ? ratio : value;
  if (figure === null || !Number.isFinite(figure)) return false;
  return figure <= (bound.atMost ?? Number.POSITIVE_INFINITY) && figure >= (bound.atLeast ?? Number.NEGATIVE_INFINITY);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError("the median of no values was asked for");
  return (lower + upper) / 2;
}

/** What is between the lower and the upper quarter. */
export function middleHalf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const quarter = Math.floor(sorted.length / 4);
  return { low: sorted[quarter] ?? Number.NaN, high: sorted[sorted.length - 1 - quarter] ?? Number.NaN };
}
