import { StringDecoder } from "node:string_decoder";
import type { TerminalLines } from "./terminal-text.ts";

/** Puts the same words before every line of an output that comes in pieces; lines are never torn. */
export class LinePrefix {
  readonly #prefix: string;
  readonly #terminal: TerminalLines | undefined;
  readonly #decoder = new StringDecoder("utf8");
  #unfinished = "";

  /** With `terminal`, lines get only what a terminal should be sent. */
  constructor(prefix: string, terminal?: TerminalLines) {
    this.#prefix = prefix;
    this.#terminal = terminal;
  }

  take(chunk: Buffer): string {
    const came = this.#decoder.write(chunk);
    const text = this.#unfinished + (this.#terminal?.take(came) ?? came);
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
    const last = this.#decoder.end();
    const whole = this.#terminal === undefined ? last : this.#terminal.take(last) + this.#terminal.rest();
    const text = this.#unfinished + whole;
    return text === "" || this.#prefix === "" ? text : `${this.#prefix}${text}\n`;
  }
}
