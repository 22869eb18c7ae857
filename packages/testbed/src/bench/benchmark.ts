import type { BinarySet } from "../binaries/index.ts";
import {
  type BenchmarkRecord,
  type Bound,
  boundHolds,
  describeBound,
  type FigureParts,
  median,
  middleHalf,
  type OtherFigures,
  type Spread,
} from "./record.ts";

/** A named set of figures. `packages/*\/bench/NAME.bench.ts` exports one as `benchmark`. */
export interface Benchmark {
  readonly name: string;
  readonly description: string;
  /** What has to be on the machine first. */
  readonly programs?: readonly BinarySet[];
  run(session: BenchmarkSession): Promise<void>;
}

/** One figure to take: the subject and what it is held against, each giving one value per call. */
export interface Measurement {
  readonly name: string;
  readonly unit: string;
  subject(): Promise<number>;
  /** Measured in turn with the subject, so that both see the same machine. */
  readonly baseline?: { readonly name: string; measure(): Promise<number> };
  readonly expected?: Bound;
  /** What a reader must not conclude from the figure. */
  readonly notShown: string;
  /** How it was measured, where others are measured alike: told once on the page. */
  readonly settings?: string;
  /** What it is made of, told when it has been measured. */
  readonly parts?: () => FigureParts;
  /** What others took. */
  readonly others?: OtherFigures;
  /** Fewer runs than the session's, for figures that take long. */
  readonly runs?: number;
}

export interface SessionOptions {
  readonly runs: number;
  readonly machine: string;
  readonly date: string;
  readonly signal: AbortSignal;
  progress(message: string): void;
  /** Told of all records whenever there is another, so that a run that is cut short leaves what it has. */
  readonly recorded?: (records: readonly BenchmarkRecord[]) => Promise<void>;
}

/** Takes the figures of one benchmark, and keeps their records. */
export class BenchmarkSession {
  readonly records: BenchmarkRecord[] = [];
  readonly signal: AbortSignal;
  readonly #options: SessionOptions;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.signal = options.signal;
  }

  /** Says what goes on between figures: preparing, cleaning up. */
  progress(message: string): void {
    this.#options.progress(message);
  }

  async measure(measurement: Measurement): Promise<BenchmarkRecord> {
    const { name, unit, baseline } = measurement;
    const runs = Math.min(measurement.runs ?? this.#options.runs, this.#options.runs);
    const values: number[] = [];
    const baselines: number[] = [];
    for (let run = 1; run <= runs; run++) {
      this.signal.throwIfAborted();
      values.push(await measurement.subject());
      if (baseline) baselines.push(await baseline.measure());
      const beside = baseline ? ` (${baseline.name}: ${format(baselines.at(-1))})` : "";
      this.progress(`${name}: run ${run} of ${runs}: ${format(values.at(-1))} ${unit}${beside}`);
    }
    const record = this.#record(measurement, values, baselines);
    this.records.push(record);
    await this.#options.recorded?.(this.records);
    return record;
  }

  #record(measurement: Measurement, values: number[], baselines: number[]): BenchmarkRecord {
    const value = median(values);
    const baseline = baselines.length === 0 ? null : median(baselines);
    const ratio = baseline === null ? null : value / baseline;
    const { expected, settings, parts, others } = measurement;
    return {
      name: measurement.name,
      value: round(value),
      unit: measurement.unit,
      baseline: baseline === null ? null : round(baseline),
      ratio: ratio === null ? null : round(ratio),
      ...(baselines.length >= FEWEST_SPREAD && { spread: spreadOf(values, baselines) }),
      expected: expected ? describeBound(expected) : null,
      holds: expected ? boundHolds(expected, value, ratio) : null,
      runs: values.length,
      against: measurement.baseline?.name ?? null,
      notShown: measurement.notShown,
      ...(settings !== undefined && { settings }),
      ...(parts && { parts: parts() }),
      ...(others && { others }),
      machine: this.#options.machine,
      date: this.#options.date,
    };
  }
}

/** Of fewer runs there is no middle half. */
const FEWEST_SPREAD = 4;

function spreadOf(values: readonly number[], baselines: readonly number[]): Spread {
  const { low, high } = middleHalf(values.map((value, run) => value / (baselines[run] as number)));
  return { low: round(low), high: round(high) };
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}

function format(value: number | undefined): string {
  return value === undefined ? "-" : String(round(value));
}
