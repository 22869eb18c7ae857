const NEWLINE = 0x0a;

/** Cuts chunks of bytes into lines. A line may span chunks, and be longer than many; then it is copied, once. */
export class LineSplitter {
  #partial: Buffer[] = [];
  #pending = 0;

  /** The lines that this chunk completes, without empty ones. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#partial.length === 0 ? chunk.subarray(start, end) : this.#complete(chunk, end);
      if (line.length > 0) lines.push(line);
      start = end + 1;
    }
    if (start < chunk.length) {
      this.#partial.push(start === 0 ? chunk : chunk.subarray(start));
      this.#pending += chunk.length - start;
    }
    return lines;
  }

  /** Bytes of a line that has not ended. */
  get pending(): number {
    return this.#pending;
  }

  #complete(chunk: Buffer, end: number): Buffer {
    this.#partial.push(chunk.subarray(0, end));
    const line = Buffer.concat(this.#partial);
    this.#partial = [];
    this.#pending = 0;
    return line;
  }
}
