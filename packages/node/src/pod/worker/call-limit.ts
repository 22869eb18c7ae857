/** Lets so many calls be under way at once. Those that finish something go before those that begin something new. */
export class CallLimit {
  #free: number;
  readonly #finishing: (() => void)[] = [];
  readonly #beginning: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  async run<T>(call: () => Promise<T>, kind: "begin" | "finish" = "begin"): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => (kind === "finish" ? this.#finishing : this.#beginning).push(resolve));
    try {
      return await call();
    } finally {
      const next = this.#finishing.shift() ?? this.#beginning.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
