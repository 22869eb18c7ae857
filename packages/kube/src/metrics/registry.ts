/** Something that is counted, as Prometheus reads it. */
export interface Metric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  text(): string;
}

/** All that a process counts, in the text format of Prometheus. */
export class Registry {
  readonly contentType = "text/plain; version=0.0.4; charset=utf-8";
  readonly #metrics = new Map<string, Metric>();

  register(metric: Metric): void {
    if (this.#metrics.has(metric.name)) throw new Error(`there is a metric ${metric.name} already`);
    this.#metrics.set(metric.name, metric);
  }

  /** In the order in which they came. */
  list(): Metric[] {
    return [...this.#metrics.values()];
  }

  async metrics(): Promise<string> {
    return this.list()
      .map((metric) => `${metric.text()}\n`)
      .join("\n");
  }
}
