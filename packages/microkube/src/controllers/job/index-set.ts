/** Indexes of a Job as its status writes them: `0,2-5,9`. */
export class IndexSet {
  readonly #indexes: Set<number>;

  constructor(indexes: Iterable<number> = []) {
    this.#indexes = new Set(indexes);
  }

  /** Those below `completions`; what makes no sense is left out. */
  static parse(text: string | undefined, completions = Number.POSITIVE_INFINITY): IndexSet {
    const set = new IndexSet();
    for (const part of text ? text.split(",") : []) {
      const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
      if (first === undefined) continue;
      const end = Math.min(Number(last ?? first), completions - 1);
      for (let index = Number(first); index <= end; index++) set.#indexes.add(index);
    }
    return set;
  }

  get size(): number {
    return this.#indexes.size;
  }

  has(index: number): boolean {
    return this.#indexes.has(index);
  }

  with(indexes: Iterable<number>): IndexSet {
    return new IndexSet([...this.#indexes, ...indexes]);
  }

  /** How many of `other` are here too. */
  common(other: IndexSet): number {
    let count = 0;
    for (const index of other.#indexes) if (this.#indexes.has(index)) count++;
    return count;
  }

  toString(): string {
    const sorted = [...this.#indexes].sort((a, b) => a - b);
    const parts: string[] = [];
    for (let i = 0; i < sorted.length; ) {
      const first = sorted[i] ?? 0;
      let last = first;
      while (sorted[++i] === last + 1) last++;
      // Two neighbours are written one by one, as Kubernetes does.
      parts.push(last === first ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`);
    }
    return parts.join(",");
  }
}
