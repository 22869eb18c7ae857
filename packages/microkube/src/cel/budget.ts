/** What one expression may cost, and all of those that one object is checked by: as Kubernetes has it. */
const MOST_OF_ONE = 1_000_000;
const MOST_OF_ALL = 10_000_000;
/** Some functions cost more than they are charged for. Of the processor: what waits for one has cost nothing. */
const LONGEST_MS = 1_000;
/** Looks at the clock once in so many charges. */
const LOOK_EVERY = 64;

export class CostExceeded extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
    this.name = "CostExceeded";
  }
}

/** What all expressions that one object is checked by may still cost, where they are run in parts. */
export class CostAccount {
  left = MOST_OF_ALL;
  /** Whether one of them cost too much: no further one is run. */
  isClosed = false;
}

/** What is left for the expressions that run now. They run without a pause, so that one account is enough. */
class Budget {
  #ofAll = Number.POSITIVE_INFINITY;
  #ofOne = Number.POSITIVE_INFINITY;
  #deadline = Number.POSITIVE_INFINITY;
  #charges = 0;

  /** Everything within shares what an object's checks may cost. */
  all<T>(work: () => T): T {
    return this.of(new CostAccount(), work);
  }

  /** The same for a part of the checks. */
  of<T>(account: CostAccount, work: () => T): T {
    const before = this.#ofAll;
    this.#ofAll = Math.min(before, account.left);
    try {
      return work();
    } finally {
      account.left = this.#ofAll;
      this.#ofAll = before;
    }
  }

  /** One expression; what it asks for within itself is part of it. */
  one<T>(work: () => T): T {
    if (this.#ofOne !== Number.POSITIVE_INFINITY) return work();
    this.#ofOne = MOST_OF_ONE;
    this.#deadline = processorMs() + LONGEST_MS;
    try {
      return work();
    } finally {
      this.#ofOne = Number.POSITIVE_INFINITY;
      this.#deadline = Number.POSITIVE_INFINITY;
    }
  }

  /** Throws `CostExceeded` where nothing is left. */
  spend(cost: number): void {
    this.#ofOne -= cost;
    this.#ofAll -= cost;
    if (this.#ofOne < 0 || this.#ofAll < 0) throw new CostExceeded();
    if (++this.#charges % LOOK_EVERY === 0 && processorMs() > this.#deadline) throw new CostExceeded();
  }
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export const budget = new Budget();
