import type { TerminalSize } from "./command-streams.ts";

/** No size is written longer than this. */
const LONGEST = 1024;

/** Finds sizes in the JSON objects that clients send one after the other, however they were cut. */
export class SizeParser {
  #text = "";

  push(data: Buffer | string): TerminalSize[] {
    this.#text += String(data);
    const sizes: TerminalSize[] = [];
    for (let end = this.#text.indexOf("}"); end >= 0; end = this.#text.indexOf("}")) {
      const size = parseSize(this.#text.slice(0, end + 1));
      this.#text = this.#text.slice(end + 1);
      if (size !== undefined) sizes.push(size);
    }
    if (this.#text.length > LONGEST) this.#text = "";
    return sizes;
  }
}

function parseSize(text: string): TerminalSize | undefined {
  try {
    const { Width: columns, Height: rows } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    return isExtent(columns) && isExtent(rows) ? { columns, rows } : undefined;
  } catch {
    // A size that cannot be understood is not worth a command's end: the terminal stays as it is.
    return undefined;
  }
}

function isExtent(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 65536;
}

/** Sizes for whoever runs a command. Who is late gets only the latest. */
export class SizeQueue implements AsyncIterable<TerminalSize> {
  #latest: TerminalSize | undefined;
  #ended = false;
  #wake: () => void = () => {};

  push(size: TerminalSize): void {
    this.#latest = size;
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  [Symbol.asyncIterator](): AsyncIterator<TerminalSize> {
    return {
      next: async () => {
        while (this.#latest === undefined && !this.#ended) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
        const value = this.#latest;
        this.#latest = undefined;
        return value === undefined ? { done: true, value: undefined } : { done: false, value };
      },
      return: async () => {
        this.end();
        return { done: true, value: undefined };
      },
    };
  }
}
