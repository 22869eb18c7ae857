import { type Labels, line, type MetricOptions, numberText, Series } from "./series.ts";

/** How often something was observed, by how large it was. */
class Distribution {
  readonly #bounds: readonly number[];
  /** One more than bounds: the last is for what is larger than all. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++;
    this.counts[at] = (this.counts[at] as number) + 1;
    this.sum += value;
  }
}

export class Histogram<L extends string = never> extends Series<L, Distribution> {
  readonly type = "histogram";
  readonly #buckets: readonly number[];

  constructor(options: MetricOptions<L> & { readonly buckets: readonly number[] }) {
    super(options);
    this.#buckets = options.buckets;
  }

  labels(labels: Labels<L>): { observe(value: number): void } {
    return this.valueOf(labels);
  }

  observe(labels: Labels<L>, value: number): void {
    this.valueOf(labels).observe(value);
  }

  protected fresh(): Distribution {
    return new Distribution(this.#buckets);
  }

  protected lines(labels: string, { counts, sum }: Distribution): string[] {
    const more = labels === "" ? "" : `,${labels}`;
    let count = 0;
    const buckets = counts.map((each, at) => {
      count += each;
      return line(
        `${this.name}_bucket`,
        `le="${numberText(this.#buckets[at] ?? Number.POSITIVE_INFINITY)}"${more}`,
        count,
      );
    });
    return [...buckets, line(`${this.name}_sum`, labels, sum), line(`${this.name}_count`, labels, count)];
  }
}
