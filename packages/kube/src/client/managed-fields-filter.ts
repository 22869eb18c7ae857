const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Depths in the text of a list: the list itself, its items, an item, an item's metadata. */
const LIST = 1;
const ITEM = 3;
const METADATA = 4;

const noBytes = Buffer.alloc(0);
const items = Buffer.from("items");
const metadata = Buffer.from("metadata");
const managedFields = Buffer.from("managedFields");

/**
 * Takes `metadata.managedFields` of each item out of a list's text while it arrives. They are half of what a server
 * sends and almost nobody reads them; leaving them out here spares the making of their objects.
 */
export class ManagedFieldsFilter {
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Where the last string at a depth that matters begins and ends in the current text, quotes excluded. */
  #stringStart = 0;
  #stringEnd = 0;
  #inItems = false;
  #inMetadata = false;
  /** Where the field of the metadata that is being read begins, its comma included; what follows is held back. */
  #fieldStart = -1;
  /** Whether this is within what is left out. */
  #skipping = false;
  /** The field left out was the first: the comma after it goes as well. */
  #dropComma = false;
  #held: Buffer = noBytes;

  /** The part of the text so far that is certain to stay. */
  push(chunk: Buffer): Buffer {
    const text = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const length = text.length;
    const kept: Buffer[] = [];
    let from = 0;
    // Looked at for every byte, hence not fields; and strings, which most bytes are in, have a loop of their own.
    let depth = this.#depth;
    let skipping = this.#skipping;
    let inString = this.#inString;
    let i = this.#held.length + (this.#escaped ? 1 : 0);
    for (; i < length; i++) {
      let byte = text[i] as number;
      if (inString || byte === QUOTE) {
        if (!inString) {
          inString = true;
          this.#stringStart = i + 1;
          i++;
        }
        while (i < length) {
          byte = text[i] as number;
          if (byte === QUOTE) break;
          i += byte === BACKSLASH ? 2 : 1;
        }
        if (i >= length) break;
        inString = false;
        this.#stringEnd = i;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth++;
        if (depth === METADATA && this.#inMetadata) this.#fieldStart = i + 1;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === METADATA) {
          if (skipping) from = i;
          skipping = false;
          this.#inMetadata = false;
          this.#dropComma = false;
          this.#fieldStart = -1;
        }
        depth--;
        if (skipping && depth === METADATA) {
          skipping = false;
          from = i + 1;
        }
      } else if (byte === COMMA && depth === METADATA && this.#inMetadata) {
        if (skipping) from = i;
        skipping = false;
        this.#fieldStart = i;
        if (this.#dropComma) {
          from = i + 1;
          this.#fieldStart = i + 1;
          this.#dropComma = false;
        }
      } else if (byte === COLON && depth <= METADATA && !skipping) {
        if (this.#endsKey(text, depth)) {
          kept.push(text.subarray(from, this.#fieldStart));
          this.#dropComma = text[this.#fieldStart] !== COMMA;
          skipping = true;
        }
        this.#fieldStart = -1;
      }
    }
    this.#depth = depth;
    this.#skipping = skipping;
    this.#inString = inString;
    this.#escaped = i > length;
    return this.#split(text, from, kept);
  }

  /** Notes the key that ends before this colon; true when it is the one to leave out. */
  #endsKey(text: Buffer, depth: number): boolean {
    if (depth === LIST) this.#inItems = this.#isKey(text, items);
    else if (depth === ITEM) this.#inMetadata = this.#inItems && this.#isKey(text, metadata);
    return depth === METADATA && this.#inMetadata && this.#isKey(text, managedFields);
  }

  /** Keeps what is decided, holds back what is not, and forgets what is left out. */
  #split(text: Buffer, from: number, kept: Buffer[]): Buffer {
    if (this.#skipping) {
      this.#held = noBytes;
    } else {
      const end = Math.max(from, this.#fieldStart >= 0 ? this.#fieldStart : this.#undecided(text));
      kept.push(text.subarray(from, end));
      this.#held = text.subarray(end);
      this.#stringStart -= end;
      this.#stringEnd -= end;
      if (this.#fieldStart >= 0) this.#fieldStart -= end;
    }
    return kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept);
  }

  /** A key that may still turn out to be one of those looked for must stay in view. */
  #undecided(text: Buffer): number {
    return this.#depth < METADATA ? Math.min(text.length, Math.max(0, this.#stringStart - 1)) : text.length;
  }

  /** What was held back, once nothing more comes. */
  end(): Buffer {
    return this.#held;
  }

  #isKey(text: Buffer, key: Buffer): boolean {
    if (this.#stringEnd - this.#stringStart !== key.length) return false;
    return key.compare(text, this.#stringStart, this.#stringEnd) === 0;
  }
}
