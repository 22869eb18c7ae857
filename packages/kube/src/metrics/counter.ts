import { type Labels, line, type MetricOptions, Series } from "./series.ts";

/** A number, and how to change it without looking for its labels each time. */
class Amount {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

abstract class Amounts<L extends string> extends Series<L, Amount> {
  constructor(options: MetricOptions<L>) {
    super(options);
    // Without labels there is one value, and it is there from the start.
    if (options.labelNames === undefined) this.valueOf({} as Labels<L>);
  }

  labels(labels: Labels<L>): { inc(by?: number): void } {
    return this.valueOf(labels);
  }

  inc(labels: Labels<L> = {} as Labels<L>, by = 1): void {
    this.valueOf(labels).inc(by);
  }

  protected fresh(): Amount {
    return new Amount();
  }

  protected lines(labels: string, { value }: Amount): string[] {
    return [line(this.name, labels, value)];
  }
}

/** Only ever grows. */
export class Counter<L extends string = never> extends Amounts<L> {
  readonly type = "counter";
}

/** Goes up and down. */
export class Gauge<L extends string = never> extends Amounts<L> {
  readonly type = "gauge";
  readonly #read: ((gauge: Gauge<L>) => void) | undefined;

  /** `read` is called whenever the gauge is read, to set it then; what was set before is forgotten. */
  constructor(options: MetricOptions<L> & { readonly read?: (gauge: Gauge<L>) => void }) {
    super(options);
    this.#read = options.read;
  }

  set(labels: Labels<L>, value: number): void {
    this.valueOf(labels).value = value;
  }

  dec(labels: Labels<L> = {} as Labels<L>): void {
    this.inc(labels, -1);
  }

  protected override collect(): void {
    if (this.#read === undefined) return;
    this.reset();
    this.#read(this);
  }
}
