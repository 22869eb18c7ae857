/**
 * At most so many of something, and of no owner more than others leave: where there is one too many, the oldest of whoever has
 * most of them goes. So one owner that takes without end pushes out its own, and nobody else's.
 */
export class FairShare<T> {
  readonly #most: number;
  readonly #owners = new Map<string, Set<T>>();
  readonly #ownerOf = new Map<T, string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes one more. What has to go for it is no longer counted, and given back. */
  add(item: T, owner: string): T | undefined {
    this.#owners.set(owner, (this.#owners.get(owner) ?? new Set()).add(item));
    this.#ownerOf.set(item, owner);
    if (this.#ownerOf.size <= this.#most) return undefined;
    const oldest = this.#oldestOfMost();
    if (oldest !== undefined) this.delete(oldest);
    return oldest;
  }

  delete(item: T): void {
    const owner = this.#ownerOf.get(item);
    if (owner === undefined) return;
    this.#ownerOf.delete(item);
    const items = this.#owners.get(owner);
    items?.delete(item);
    if (items?.size === 0) this.#owners.delete(owner);
  }

  #oldestOfMost(): T | undefined {
    let most: Set<T> | undefined;
    for (const items of this.#owners.values()) if (items.size > (most?.size ?? 0)) most = items;
    return most?.values().next().value;
  }
}
