import type { Metric, Registry } from "./registry.ts";

export type Labels<L extends string> = Readonly<Partial<Record<L, string | number>>>;

export interface MetricOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly L[];
  readonly registers: readonly Registry[];
}

/** What one name stands for: a value of `T` for each combination of labels that has occurred. */
export abstract class Series<L extends string, T> implements Metric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  readonly #values = new Map<string, T>();

  constructor({ name, help, labelNames = [], registers }: MetricOptions<L>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    for (const registry of registers) registry.register(this);
  }

  abstract readonly type: string;
  protected abstract fresh(): T;
  /** The lines of one value; `labels` is what stands between the braces. */
  protected abstract lines(labels: string, value: T): string[];
  /** Called before the values are read. */
  protected collect(): void {}

  protected valueOf(labels: Labels<L>): T {
    const key = this.#keyOf(labels);
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = this.fresh();
    this.#values.set(key, value);
    return value;
  }

  /** Forgets what was counted of these labels, of which nothing more will come. */
  remove(labels: Labels<L>): void {
    this.#values.delete(this.#keyOf(labels));
  }

  reset(): void {
    this.#values.clear();
  }

  text(): string {
    this.collect();
    const head = [`# HELP ${this.name} ${escaped(this.help)}`, `# TYPE ${this.name} ${this.type}`];
    return [...head, ...this.#values.entries().flatMap(([labels, value]) => this.lines(labels, value))].join("\n");
  }

  /** What stands between the braces is also what tells one combination from another. */
  #keyOf(labels: Labels<L>): string {
    let key = "";
    for (const name of this.labelNames) {
      const value = labels[name];
      if (value === undefined) continue;
      key += `${key === "" ? "" : ","}${name}="${escaped(String(value)).replaceAll('"', '\\"')}"`;
    }
    return key;
  }
}

/** `name{labels} value`. */
export function line(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${numberText(value)}`;
}

export function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

function escaped(text: string): string {
  return /[\\\n]/.test(text) ? text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n") : text;
}
