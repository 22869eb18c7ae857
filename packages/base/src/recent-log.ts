/** The last of what a program has logged, for whoever looks for a fault and cannot reach its standard error. */
export class RecentLog {
  readonly #mostCharacters: number;
  #lines: string[] = [];
  #characters = 0;

  constructor(mostCharacters = 512 * 1024) {
    this.#mostCharacters = mostCharacters;
  }

  /** A line, with its end. The oldest ones go to make room, some at a time. */
  add(line: string): void {
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters > this.#mostCharacters) this.#forget();
  }

  get text(): string {
    return this.#lines.join("");
  }

  #forget(): void {
    const kept = Math.ceil(this.#mostCharacters * 0.75);
    let first = 0;
    while (first < this.#lines.length - 1 && this.#characters > kept) {
      this.#characters -= this.#lines[first]?.length ?? 0;
      first += 1;
    }
    this.#lines = this.#lines.slice(first);
  }
}
