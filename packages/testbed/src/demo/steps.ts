import { styleText } from "node:util";
import type { Clock } from "@fjord/base";

export interface StepsOptions {
  readonly write: (text: string) => void;
  /** A terminal shows what is under way; elsewhere each thing is one line once it is done. */
  readonly isTerminal: boolean;
  readonly clock: Clock;
}

/** Tells what the demo does, with the commands that do it. */
export class Steps {
  readonly #options: StepsOptions;
  #open = "";

  constructor(options: StepsOptions) {
    this.#options = options;
  }

  /** Does something that takes its time, and says how long it took. */
  async step<T>(title: string, work: () => Promise<T>): Promise<T> {
    const { write, isTerminal, clock } = this.#options;
    const began = clock.now();
    if (isTerminal) this.#show(`${styleText("dim", "…")} ${title}`);
    try {
      const result = await work();
      this.#close();
      write(
        `${styleText("green", "✓")} ${title} ${styleText("dim", `(${((clock.now() - began) / 1000).toFixed(1)} s)`)}\n`,
      );
      return result;
    } catch (error) {
      this.#close();
      write(`${styleText("red", "✗")} ${title}\n`);
      throw error;
    }
  }

  /** Something to know while a step is under way. */
  say(text: string): void {
    const open = this.#open;
    this.#close();
    this.#options.write(`${text}\n`);
    if (open !== "") this.#show(open);
  }

  /** A command, as the reader would type it, and what it printed. */
  shown(command: string, output: string): void {
    const indented = output.trimEnd().replace(/^(?=.)/gm, "    ");
    this.say(`  ${styleText("bold", `$ ${command}`)}${indented === "" ? "" : `\n${indented}`}`);
  }

  #show(text: string): void {
    this.#open = text;
    this.#options.write(text);
  }

  #close(): void {
    if (this.#open !== "") this.#options.write("\r\u001b[K");
    this.#open = "";
  }
}
