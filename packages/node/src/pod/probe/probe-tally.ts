/** When a probe counts as passed or failed. */
export interface Thresholds {
  readonly success: number;
  readonly failure: number;
}

/** Counts tries in a row that went the same way; the verdict changes when they are enough. */
export class ProbeTally {
  readonly #thresholds: Thresholds;
  #verdict: boolean | undefined;
  #last: boolean | undefined;
  #row = 0;

  constructor(thresholds: Thresholds, initial?: boolean) {
    this.#thresholds = thresholds;
    this.#verdict = initial;
  }

  /** Undefined until there were enough tries for one. */
  get verdict(): boolean | undefined {
    return this.#verdict;
  }

  /** Counts a try; true where it has changed the verdict. */
  count(passed: boolean): boolean {
    this.#row = this.#last === passed ? this.#row + 1 : 1;
    this.#last = passed;
    const needed = passed ? this.#thresholds.success : this.#thresholds.failure;
    if (this.#row < needed || this.#verdict === passed) return false;
    this.#verdict = passed;
    return true;
  }
}
