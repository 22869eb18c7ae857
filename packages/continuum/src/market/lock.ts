/** Lets one at a time do its work, in the order in which they came. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  hold<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    // Whoever comes next waits for the end of this turn, however it ends; the caller is told of a failure.
    this.#last = turn.catch(() => {});
    return turn;
  }
}
