import { describeError, type Logger } from "@fjord/base";

/** What is tried again and again: why it fails is said once for each reason. */
export class Attempts {
  readonly #logger: Logger;
  /** By what was attempted. */
  readonly #complaints = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether all that was last attempted has been done. */
  get areDone(): boolean {
    return this.#complaints.size === 0;
  }

  /** Undefined where it fails. */
  async make<T>(failure: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      this.#complaints.delete(failure);
      return result;
    } catch (error) {
      const reason = describeError(error);
      if (this.#complaints.get(failure) !== reason) this.#logger.error(failure, { reason });
      this.#complaints.set(failure, reason);
      return undefined;
    }
  }
}
