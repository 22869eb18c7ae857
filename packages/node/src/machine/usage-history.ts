/** A sum that only grows, such as processor time, at two moments. */
interface Sample {
  readonly time: number;
  readonly total: number;
}

/** Rates out of sums: how fast each grew between the last two samples that were far enough apart. */
export class UsageHistory {
  readonly #shortest: number;
  readonly #samples = new Map<string, { base: Sample; last: Sample; rate: number | undefined }>();

  /** @param shortest Milliseconds that have to lie between two samples: shorter ones give noise. */
  constructor(shortest = 1_000) {
    this.#shortest = shortest;
  }

  /** Takes a sample; gives the growth in a second, once it can be told. A sum that went back began anew. */
  rate(id: string, time: number, total: number): number | undefined {
    const known = this.#samples.get(id);
    if (known === undefined || total < known.last.total || time < known.last.time) {
      this.#samples.set(id, { base: { time, total }, last: { time, total }, rate: undefined });
      return undefined;
    }
    const last = { time, total };
    const passed = time - known.base.time;
    if (passed < this.#shortest) {
      this.#samples.set(id, { ...known, last });
      return known.rate;
    }
    const rate = ((total - known.base.total) / passed) * 1000;
    this.#samples.set(id, { base: last, last, rate });
    return rate;
  }

  /** Forgets all but these. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#samples.keys()) if (!ids.has(id)) this.#samples.delete(id);
  }
}
