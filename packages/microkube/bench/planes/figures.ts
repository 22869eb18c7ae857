import { type BenchmarkSession, type Bound, median } from "@fjord/testbed/bench";

/** One value of one control plane, and what it cost each process. */
export interface Sample {
  readonly value: number;
  readonly usage: ReadonlyMap<string, number>;
}

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly expected?: Bound;
  readonly notShown: string;
}

/** Samples of both control planes by figure, taken in turn. */
export class Figures {
  readonly #figures = new Map<string, { figure: Figure; ours: Sample[]; theirs: Sample[] }>();

  add(figure: Figure, isOurs: boolean, value: number, usage: ReadonlyMap<string, number> = new Map()): void {
    const found = this.#figures.get(figure.name) ?? { figure, ours: [], theirs: [] };
    this.#figures.set(figure.name, found);
    (isOurs ? found.ours : found.theirs).push({ value, usage });
  }

  /** Hands all of them to the session, as if taken now. */
  async record(session: BenchmarkSession, against: string): Promise<void> {
    for (const { figure, ours, theirs } of this.#figures.values()) {
      const [nextOurs, nextTheirs] = [values(ours), values(theirs)];
      const spent = [describeUsage(ours), describeUsage(theirs)].filter((text) => text !== "");
      const processors = spent.length === 0 ? "" : ` Processor seconds: ${spent.join("; against ")}.`;
      await session.measure({
        ...figure,
        subject: async () => nextOurs(),
        baseline: { name: against, measure: async () => nextTheirs() },
        notShown: `${figure.notShown}${processors}`,
        runs: Math.min(ours.length, theirs.length),
      });
    }
    this.#figures.clear();
  }
}

function values(samples: readonly Sample[]): () => number {
  let next = 0;
  return () => samples[next++]?.value ?? Number.NaN;
}

function describeUsage(samples: readonly Sample[]): string {
  const names = new Set(samples.flatMap(({ usage }) => [...usage.keys()]));
  return [...names]
    .map((name) => `${name} ${median(samples.map(({ usage }) => usage.get(name) ?? 0)).toFixed(2)}`)
    .join(", ");
}
