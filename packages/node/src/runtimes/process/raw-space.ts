import { execFile } from "node:child_process";
import type { Logger } from "@fjord/base";
import { findTool } from "./tools.ts";

/** Gives back the disk that carried output takes, so that the raw files of a talkative container do not grow for ever. */
export class RawSpace {
  readonly #logger: Logger;
  readonly #busy = new Set<string>();
  #tool: string | undefined = findTool("fallocate");

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Frees the blocks below `end`; offsets in the file stay as they are. */
  release(file: string, end: number): void {
    const tool = this.#tool;
    if (!tool || end <= 0 || this.#busy.has(file)) return;
    this.#busy.add(file);
    execFile(tool, ["--punch-hole", "--offset", "0", "--length", String(end), file], { env: {} }, (error, _, text) => {
      this.#busy.delete(file);
      if (!error || /No such file/.test(text)) return;
      this.#logger.warn("cannot free the space of carried logs", { file, error: text.trim() });
      if (/not supported/i.test(text)) this.#tool = undefined;
    });
  }
}
