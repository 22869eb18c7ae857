import type { Random } from "@fjord/base";

/** Choices that a seed decides. */
export class Choice {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  one<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T;
  }

  /** True in so many of all cases. */
  chance(share: number): boolean {
    return this.random() < share;
  }
}
