/** How much of a server's answers may be under way together: what has come of each, and is not whole yet. */
export class AnswerRoom {
  readonly #bytes: number;
  #taken = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Takes so much more; less than nothing gives back. Throws where there is no room for it. */
  take(bytes: number): void {
    if (bytes > 0 && this.#taken + bytes > this.#bytes)
      throw new Error(`its answers under way are larger together than ${this.#bytes} bytes`);
    this.#taken += bytes;
  }
}
