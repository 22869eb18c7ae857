const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
/** Bytes to gather before they are parsed: enough that cutting costs nothing, few enough to be done in a moment. */
const BATCH = 256 * 1024;
/** Beyond this, trying several places to cut would block the process for long. */
const MANY_ATTEMPTS_BELOW = 16 * 1024 * 1024;
/** Most lists fit in this. */
const FIRST = 64 * 1024;
const noBytes = Buffer.alloc(0);

export interface ListDecoderOptions {
  batchBytes?: number;
  parse?: ParseItems;
}

/** Parses `before` and the text, in which there are items, and may treat them in a way of its own. */
export type ParseItems = <T>(before: string, text: Buffer, itemsOf: (value: T) => unknown) => T;

/**
 * Parses a list while it arrives: the server makes the rest meanwhile, only a batch of bytes is held instead of several
 * copies of all, and the process is never blocked for long.
 *
 * It cuts between items where the text looks like `},{"metadata":`. Such a place may also lie within an item; then what
 * is before it is not JSON, and another is taken. Whatever cannot be cut is parsed whole at the end.
 */
export class ListDecoder<T extends { items?: unknown[] | null }> {
  /** What is not parsed yet. From the first item on it begins with a bracket. */
  #buffer = noBytes;
  #length = 0;
  readonly #batch: number;
  #threshold: number;
  #head: T | undefined;
  #separator: Buffer | undefined;
  readonly #items: unknown[] = [];
  readonly #parse: ParseItems;

  constructor({ batchBytes = BATCH, parse = parseAsIs }: ListDecoderOptions = {}) {
    this.#batch = batchBytes;
    this.#threshold = batchBytes;
    this.#parse = parse;
  }

  push(chunk: Buffer): void {
    this.#reserve(chunk.length);
    chunk.copy(this.#buffer, this.#length);
    this.#length += chunk.length;
    if (this.#length >= this.#threshold) this.#parseBatch();
  }

  /** The whole list; throws `SyntaxError` if it is none, and whatever Node throws if it is too long. */
  end(): T {
    const rest = this.#buffer.subarray(0, this.#length);
    this.#buffer = noBytes;
    if (this.#head === undefined) return this.#parse<T>("", rest, (list) => list?.items);
    const tail = this.#parse<T & { items: unknown[] }>('{"items":', rest, (list) => list.items);
    const items = this.#items;
    for (const item of tail.items) items.push(item);
    return { ...this.#head, ...tail, items };
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2, FIRST));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }

  #parseBatch(): void {
    if (this.#head === undefined) this.#parseHead();
    const before = this.#length;
    if (this.#separator !== undefined) this.#parseItems(this.#separator);
    // What could not be cut is tried again when there is twice as much, and not with every chunk.
    this.#threshold = this.#length === before ? before * 2 : this.#length + this.#batch;
  }

  /** Reads all before the first item. */
  #parseHead(): void {
    const start = /"items":\[(\{"\w+":)/.exec(this.#buffer.toString("latin1", 0, Math.min(this.#length, 65_536)));
    if (start === null) return;
    const bracket = start.index + '"items":'.length;
    const head = attempt(() => JSON.parse(`${this.#buffer.toString("utf8", 0, bracket)}[]}`) as T);
    if (head === undefined) return;
    this.#head = head;
    this.#separator = Buffer.from(`},${start[1]}`);
    this.#drop(bracket);
  }

  /** Reads as many items as are whole. */
  #parseItems(separator: Buffer): void {
    const buffer = this.#buffer;
    let brace = buffer.lastIndexOf(separator, this.#length - separator.length);
    const attempts = this.#length < MANY_ATTEMPTS_BELOW ? 8 : 1;
    for (let tried = 0; brace !== -1 && tried < attempts; tried++) {
      const comma = brace + 1;
      // The comma makes room for the bracket that ends this array, then for the one that begins the next.
      buffer[comma] = CLOSE_BRACKET;
      const items = attempt(() => this.#parse<unknown[]>("", buffer.subarray(0, comma + 1), (all) => all));
      if (items !== undefined) {
        for (const item of items) this.#items.push(item);
        buffer[comma] = OPEN_BRACKET;
        this.#drop(comma);
        return;
      }
      buffer[comma] = COMMA;
      brace = brace === 0 ? -1 : buffer.lastIndexOf(separator, brace - 1);
    }
  }

  #drop(bytes: number): void {
    this.#buffer.copyWithin(0, bytes, this.#length);
    this.#length -= bytes;
  }
}

function parseAsIs<T>(before: string, text: Buffer): T {
  return JSON.parse(before + text.toString("utf8")) as T;
}

/** Undefined where the text was cut at the wrong place, or is longer than a string can be. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
