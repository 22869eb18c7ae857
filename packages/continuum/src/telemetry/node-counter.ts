/**
 * Processor time of a whole node, out of that of containers which come and go. It never goes back: whoever computes rates
 * from it would take that for a restart of the node.
 */
export class NodeCounter {
  readonly startedAt: number;
  #last = new Map<string, number>();
  #total = 0;

  constructor(startedAt: number) {
    this.startedAt = startedAt;
  }

  /** Takes what each container has used since it began, by a key of its own, and gives the total. */
  add(used: ReadonlyMap<string, number>): number {
    for (const [key, now] of used) {
      const before = this.#last.get(key) ?? 0;
      // Less than before: it has begun anew.
      this.#total += now >= before ? now - before : now;
    }
    this.#last = new Map(used);
    return this.#total;
  }
}
