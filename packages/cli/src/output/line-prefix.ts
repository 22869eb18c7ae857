import { StringDecoder } from "node:string_decoder";

/** Puts the same words before every line of an output that comes in pieces; lines are never torn. */
export class LinePrefix {
  readonly #prefix: string;
  readonly #decoder = new StringDecoder("utf8");
  #unfinished = "";

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  take(chunk: Buffer): string {
    const text = this.#unfinished + this.#decoder.write(chunk);
    if (this.#prefix === "") {
      this.#unfinished = "";
      return text;
    }
    const end = text.lastIndexOf("\n") + 1;
    this.#unfinished = text.slice(end);
    return text.slice(0, end).replace(/^(?=.|\n)/gm, this.#prefix);
  }

  /** What was written without an end of line. */
  rest(): string {
    const text = this.#unfinished + this.#decoder.end();
    return text === "" ? "" : `${this.#prefix}${text}\n`;
  }
}
