/** The keys of objects in the order they were written in, duplicates included; only of objects that have some. */
export type WrittenKeys = Map<object, readonly string[]>;

/** What Go's reader says of a text that is no JSON. */
export class JsonSyntaxError extends Error {}

/**
 * Reads JSON more slowly than `JSON.parse`, for what that does not tell: keys that are there twice (the last one
 * counts), and Go's words for what is wrong.
 */
export function parseJsonText(text: string): { value: unknown; keys: WrittenKeys } {
  const reader = new Reader(text);
  return { value: reader.document(), keys: reader.keys };
}

class Reader {
  readonly keys: WrittenKeys = new Map();
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): unknown {
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length) throw this.#unexpected("after top-level value");
    return value;
  }

  #value(): unknown {
    this.#space();
    const first = this.#text[this.#at];
    if (first === "{" || first === "[") {
      if (++this.#depth > 10_000) throw new JsonSyntaxError("exceeded max depth");
      const value = first === "{" ? this.#object() : this.#array();
      this.#depth--;
      return value;
    }
    if (first === '"') return this.#string();
    if (first === "t") return this.#literal("true", true);
    if (first === "f") return this.#literal("false", false);
    if (first === "n") return this.#literal("null", null);
    if (first === "-" || (first !== undefined && first >= "0" && first <= "9")) return this.#number();
    throw this.#unexpected("looking for beginning of value");
  }

  #object(): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    const keys: string[] = [];
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === "}") {
      this.#at++;
      return value;
    }
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') throw this.#unexpected("looking for beginning of object key string");
      const key = this.#string();
      this.#space();
      if (this.#text[this.#at] !== ":") throw this.#unexpected("after object key");
      this.#at++;
      keys.push(key);
      const one = this.#value();
      Object.defineProperty(value, key, { value: one, enumerable: true, configurable: true, writable: true });
      this.#space();
      const next = this.#text[this.#at];
      if (next !== "," && next !== "}") throw this.#unexpected("after object key:value pair");
      this.#at++;
      if (next === "}") break;
    }
    if (new Set(keys).size !== keys.length) this.keys.set(value, keys);
    return value;
  }

  #array(): unknown[] {
    const value: unknown[] = [];
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === "]") {
      this.#at++;
      return value;
    }
    for (;;) {
      value.push(this.#value());
      this.#space();
      const next = this.#text[this.#at];
      if (next !== "," && next !== "]") throw this.#unexpected("after array element");
      this.#at++;
      if (next === "]") return value;
    }
  }

  #string(): string {
    const from = this.#at++;
    for (;;) {
      const one = this.#text.charCodeAt(this.#at);
      if (Number.isNaN(one) || one < 0x20) throw this.#unexpected("in string literal");
      this.#at++;
      if (one === 0x22) return JSON.parse(this.#text.slice(from, this.#at));
      if (one === 0x5c) this.#escape();
    }
  }

  #escape(): void {
    const one = this.#text[this.#at] ?? "";
    if (one === "" || !'"\\/bfnrtu'.includes(one)) throw this.#unexpected("in string escape code");
    this.#at++;
    if (one !== "u") return;
    for (const end = this.#at + 4; this.#at < end; this.#at++) {
      if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? ""))
        throw this.#unexpected("in \\u hexadecimal character escape");
    }
  }

  #literal(text: string, value: unknown): unknown {
    for (const [at, one] of [...text].entries()) {
      if (at > 0 && this.#text[this.#at] !== one) {
        throw this.#unexpected(`in literal ${text} (expecting ${quote(one)})`);
      }
      this.#at++;
    }
    return value;
  }

  #number(): number {
    const from = this.#at;
    if (this.#text[this.#at] === "-") {
      this.#at++;
      this.#digit("in numeric literal");
    }
    if (this.#text[this.#at] === "0") this.#at++;
    else this.#digits();
    if (this.#text[this.#at] === ".") {
      this.#at++;
      this.#digit("after decimal point in numeric literal");
      this.#digits();
    }
    if (this.#text[this.#at] === "e" || this.#text[this.#at] === "E") {
      this.#at++;
      if (this.#text[this.#at] === "+" || this.#text[this.#at] === "-") this.#at++;
      this.#digit("in exponent of numeric literal");
      this.#digits();
    }
    return Number(this.#text.slice(from, this.#at));
  }

  #digit(where: string): void {
    if (!/[0-9]/.test(this.#text[this.#at] ?? "")) throw this.#unexpected(where);
  }

  #digits(): void {
    while (/[0-9]/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #space(): void {
    while (" \t\r\n".includes(this.#text[this.#at] ?? "x")) this.#at++;
  }

  #unexpected(where: string): JsonSyntaxError {
    const one = this.#text[this.#at];
    if (one === undefined) return new JsonSyntaxError("unexpected end of JSON input");
    return new JsonSyntaxError(`invalid character ${quote(one)} ${where}`);
  }
}

/** A character as Go quotes one. */
function quote(one: string): string {
  if (one === "'") return "'\\''";
  if (one === '"') return "'\"'";
  const text = JSON.stringify(one).slice(1, -1);
  return `'${text.replace(/^\\u00(..)$/, "\\x$1")}'`;
}
