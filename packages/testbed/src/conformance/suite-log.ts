import { closeSync, openSync, readSync } from "node:fs";

/** One spec that has ended. */
export interface SpecEnd {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly seconds: number;
}

export interface SuiteListener {
  /** Told once, before the first spec ends. */
  total?(count: number): void;
  ended?(spec: SpecEnd): void;
}

/** Reads ginkgo's output, given in pieces, for what a reader wants to see of it as it goes. */
export class SuiteLog {
  readonly #listener: SuiteListener;
  #rest = "";
  #outcome: Omit<SpecEnd, "name"> | undefined;
  /** What stood first behind the last rule: with one process, the name of the spec that runs. */
  #heading = "";
  #afterRule = false;

  constructor(listener: SuiteListener) {
    this.#listener = listener;
  }

  write(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    const total = /^Will run (\d+) of \d+ specs/.exec(line);
    if (total !== null) this.#listener.total?.(Number(total[1]));
    const outcome = this.#outcome;
    this.#outcome = outcomeOf(line);
    const isRule = /^-{30}$/.test(line);
    if (outcome !== undefined) this.#listener.ended?.({ name: specName(isRule ? this.#heading : line), ...outcome });
    if (this.#afterRule) this.#heading = line;
    this.#afterRule = isRule;
  }
}

/** The line before a spec's name, or after all that a passed one has said where one process runs them: `• [1.250 seconds]`, `• [FAILED] [30.000 seconds]`, `S [SKIPPED] [0.016 seconds]`. */
function outcomeOf(line: string): Omit<SpecEnd, "name"> | undefined {
  const match = /^[•SP] (?:\[([A-Z ]+)\] )?\[([\d.]+) seconds\]$/.exec(line);
  if (match === null) return undefined;
  const outcome = match[1] === undefined ? "passed" : match[1] === "SKIPPED" ? "skipped" : "failed";
  return { outcome, seconds: Number(match[2]) };
}

/** Without what ginkgo adds: the mark of the node that failed, and the labels. */
function specName(line: string): string {
  return line.replace(/ \[It\] /, " ").replace(/ \[[^[\]]*\]$/, "");
}

/** Follows a file as it grows; each call gives what is new. */
export function fileFollower(file: string): () => string {
  const decoder = new TextDecoder();
  const buffer = Buffer.alloc(64 * 1024);
  let position = 0;
  return () => {
    const descriptor = openSync(file, "r");
    try {
      let text = "";
      for (;;) {
        const length = readSync(descriptor, buffer, 0, buffer.length, position);
        if (length === 0) return text;
        position += length;
        text += decoder.decode(buffer.subarray(0, length), { stream: true });
      }
    } finally {
      closeSync(descriptor);
    }
  };
}
