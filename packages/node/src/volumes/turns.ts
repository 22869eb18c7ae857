/** One thing at a time for each key, in the order in which they were asked for. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work, work);
    this.#last.set(key, turn);
    const settled = () => {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    };
    turn.then(settled, settled);
    return turn;
  }
}
