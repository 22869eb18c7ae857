type State = "head" | "body" | "chunk size" | "chunk" | "chunk end" | "trailer";

/** Finds where answers of HTTP/1.1 end, and looks at nothing but their status and length. */
export class AnswerReader {
  /** Of bodies, so far. */
  bytes = 0;
  #state: State = "head";
  #status = 0;
  /** Of the body or the chunk that is being read. */
  #left = 0;
  /** What of a line or a head has come. */
  #begun = "";

  /** The status when these bytes complete an answer. One request is under way, so that nothing follows it. */
  read(bytes: Buffer): number | undefined {
    let at = 0;
    for (;;) {
      if (this.#state === "head") {
        const end = this.#line(bytes, at, "\r\n\r\n");
        if (end === undefined) return undefined;
        at = end;
        if (this.#readHead()) return this.#complete();
      } else if (this.#state === "body" || this.#state === "chunk") {
        const taken = Math.min(this.#left, bytes.length - at);
        at += taken;
        this.#left -= taken;
        this.bytes += taken;
        if (this.#left > 0) return undefined;
        if (this.#state === "body") return this.#complete();
        this.#state = "chunk end";
      } else {
        const end = this.#line(bytes, at, "\r\n");
        if (end === undefined) return undefined;
        at = end;
        const line = this.#begun.slice(0, -2);
        this.#begun = "";
        if (this.#state === "chunk end") this.#state = "chunk size";
        else if (this.#state === "chunk size") {
          this.#left = Number.parseInt(line, 16);
          this.#state = this.#left === 0 ? "trailer" : "chunk";
        } else if (line === "") return this.#complete();
      }
    }
  }

  /** Takes bytes up to the end of a line or head, and gives where it ends; undefined when it goes on. */
  #line(bytes: Buffer, at: number, ending: string): number | undefined {
    const before = this.#begun.length;
    // The ending may have begun with what came before.
    const tail = this.#begun.slice(-(ending.length - 1));
    if (before > 0) {
      const joined = tail + bytes.toString("latin1", at, at + ending.length - 1);
      const found = joined.indexOf(ending);
      if (found >= 0) {
        const end = at + found + ending.length - tail.length;
        this.#begun += bytes.toString("latin1", at, end);
        return end;
      }
    }
    const found = bytes.indexOf(ending, at, "latin1");
    const end = found < 0 ? bytes.length : found + ending.length;
    this.#begun += bytes.toString("latin1", at, end);
    return found < 0 ? undefined : end;
  }

  /** Whether that was all. */
  #readHead(): boolean {
    const head = this.#begun.toLowerCase();
    this.#begun = "";
    this.#status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/.exec(head);
    const isChunked = /\r\ntransfer-encoding: *chunked/.test(head);
    if (!length && !isChunked) throw new Error(`an answer has no length: ${head}`);
    this.#left = Number(length?.[1] ?? 0);
    this.#state = isChunked ? "chunk size" : "body";
    return !isChunked && this.#left === 0;
  }

  #complete(): number {
    this.#state = "head";
    return this.#status;
  }
}
