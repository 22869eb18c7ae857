/** A regular expression of RE2 (Go's), as a tree. */
export type Node =
  | { readonly is: "empty" }
  | { readonly is: "character"; readonly matches: (code: number) => boolean }
  | { readonly is: "assertion"; readonly what: Assertion }
  | { readonly is: "sequence" | "choice"; readonly of: readonly Node[] }
  | {
      readonly is: "repeat";
      readonly of: Node;
      readonly least: number;
      readonly most: number;
      readonly greedy: boolean;
    };

/** Where a match may be, without a character of its own. */
export type Assertion = "text start" | "text end" | "line start" | "line end" | "word boundary" | "no word boundary";

interface Flags {
  readonly ignoresCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
  readonly lazy: boolean;
}

const MOST_REPEATS = 1_000;
const DEEPEST = 250;
const perl: Readonly<Record<string, string>> = { d: "0-9", w: "0-9A-Za-z_", s: "\\t\\n\\f\\r " };
const posix: Readonly<Record<string, string>> = {
  ...{
    alnum: "0-9A-Za-z",
    alpha: "A-Za-z",
    ascii: "\\x00-\\x7F",
    blank: "\\t ",
    cntrl: "\\x00-\\x1F\\x7F",
    digit: "0-9",
  },
  ...{ graph: "!-~", lower: "a-z", print: " -~", punct: "!-\\/:-@\\[-`\\{-~", space: "\\t\\n\\v\\f\\r ", upper: "A-Z" },
  ...{ word: "0-9A-Za-z_", xdigit: "0-9A-Fa-f" },
};
const controls: Readonly<Record<string, string>> = { a: "\\x07", f: "\\f", t: "\\t", n: "\\n", r: "\\r", v: "\\v" };

/** Reads one; throws an Error in Go's words. */
export function parseExpression(pattern: string): Node {
  const parser = new Parser(pattern);
  return parser.whole();
}

class Parser {
  readonly #pattern: string;
  readonly #text: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#text = [...pattern];
  }

  whole(): Node {
    const node = this.#choice({ ignoresCase: false, multiline: false, dotAll: false, lazy: false });
    if (this.#at < this.#text.length) throw problem("unexpected )", this.#pattern);
    return node;
  }

  #choice(start: Flags): Node {
    if (++this.#depth > DEEPEST) throw problem("expression nests too deeply", this.#pattern);
    let flags = start;
    const options: Node[] = [];
    let items: Node[] = [];
    for (;;) {
      const one = this.#text[this.#at];
      if (one === undefined || one === ")") break;
      if (one === "|") {
        this.#at++;
        options.push({ is: "sequence", of: items });
        items = [];
        continue;
      }
      const changed = this.#flagsOnly(flags);
      if (changed !== undefined) flags = changed;
      else if (this.#takeAll("\\Q")) items.push(...this.#quoted(flags));
      else items.push(this.#repeated(this.#atom(flags), flags));
    }
    this.#depth--;
    options.push({ is: "sequence", of: items });
    return options.length === 1 ? (options[0] as Node) : { is: "choice", of: options };
  }

  /** `(?i)`: for what follows. */
  #flagsOnly(flags: Flags): Flags | undefined {
    const [, on = "", off = ""] = /^\(\?([imsU]*)(?:-([imsU]+))?\)/.exec(this.#rest(14)) ?? [undefined];
    if (on === "" && off === "") return undefined;
    this.#at += 3 + on.length + (off === "" ? 0 : off.length + 1);
    return withFlags(flags, on, off);
  }

  #repeated(atom: Node, { lazy }: Flags): Node {
    let node = atom;
    for (let first = true; ; first = false) {
      const bounds = this.#bounds();
      if (bounds === undefined) return node;
      if (!first) throw problem("invalid nested repetition operator", this.#pattern);
      const [least, most] = bounds;
      if (least > MOST_REPEATS || (most !== Number.POSITIVE_INFINITY && most > MOST_REPEATS) || most < least) {
        throw problem("invalid repeat count", this.#pattern);
      }
      const isLazy = this.#take("?") !== lazy;
      node = { is: "repeat", of: node, least, most, greedy: !isLazy };
    }
  }

  #bounds(): readonly [number, number] | undefined {
    if (this.#take("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#take("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#take("?")) return [0, 1];
    const found = /^\{(\d+)(,?)(\d*)\}/.exec(this.#rest(24));
    if (found === null) return undefined;
    this.#at += found[0].length;
    const least = Number(found[1]);
    if (found[2] === "") return [least, least];
    return [least, found[3] === "" ? Number.POSITIVE_INFINITY : Number(found[3])];
  }

  #atom(flags: Flags): Node {
    const one = this.#text[this.#at++] as string;
    if (one === "(") return this.#group(flags);
    if (one === "[") return this.#set(flags);
    if (one === ".") return character((code) => flags.dotAll || code !== 10);
    if (one === "^") return assertion(flags.multiline ? "line start" : "text start");
    if (one === "$") return assertion(flags.multiline ? "line end" : "text end");
    if (one === "*" || one === "+" || one === "?")
      throw problem("missing argument to repetition operator", this.#pattern, one);
    if (one === "\\") return this.#escape(flags);
    return literal(one, flags);
  }

  #group(flags: Flags): Node {
    let inner = flags;
    if (this.#take("?")) {
      const named = /^P?<(\w+)>/.exec(this.#rest(200));
      const flagged = /^([imsU]*)(?:-([imsU]+))?:/.exec(this.#rest(14));
      if (named !== null) this.#at += named[0].length;
      else if (flagged !== null) {
        this.#at += flagged[0].length;
        inner = withFlags(flags, flagged[1] ?? "", flagged[2] ?? "");
      } else throw problem("invalid or unsupported Perl syntax", this.#pattern, `(?${this.#text[this.#at] ?? ""}`);
    }
    const node = this.#choice(inner);
    if (!this.#take(")")) throw problem("missing closing )", this.#pattern);
    return node;
  }

  #escape(flags: Flags): Node {
    const one = this.#text[this.#at++];
    if (one === undefined) throw problem("trailing backslash at end of expression", this.#pattern);
    if (one === "A") return assertion("text start");
    if (one === "z") return assertion("text end");
    if (one === "b") return assertion("word boundary");
    if (one === "B") return assertion("no word boundary");
    this.#at--;
    return ofSet(this.#escapedSet(), false, flags, this.#pattern);
  }

  /** `\Qa.b\E`: characters as they are, of which the last may be repeated. */
  #quoted(flags: Flags): Node[] {
    const items: Node[] = [];
    while (this.#at < this.#text.length && !this.#takeAll("\\E")) {
      items.push(literal(this.#text[this.#at++] as string, flags));
    }
    const last = items.pop();
    return last === undefined ? [] : [...items, this.#repeated(last, flags)];
  }

  /** What follows a backslash, as JavaScript writes it within a set. */
  #escapedSet(): string {
    const one = this.#text[this.#at++] ?? "";
    const lower = one.toLowerCase();
    const known = Object.hasOwn(perl, lower) ? perl[lower] : undefined;
    if (known !== undefined) return one === lower ? known : complement(known);
    if (controls[one] !== undefined && Object.hasOwn(controls, one)) return controls[one];
    if (one === "p" || one === "P") return this.#unicodeSet(one);
    if (one === "x") return this.#hexadecimal();
    const octal = one === "0" ? /^[0-7]{0,2}/.exec(this.#rest(2)) : null;
    if (octal !== null) {
      this.#at += octal[0].length;
      return hex(Number.parseInt(`0${octal[0]}`, 8));
    }
    if (one === "" || /[A-Za-z0-9]/.test(one)) throw problem("invalid escape sequence", this.#pattern, `\\${one}`);
    return hex(one.codePointAt(0) ?? 0);
  }

  #unicodeSet(letter: string): string {
    const found = /^(?:\{(\^?)(\w+)\}|(\w))/.exec(this.#rest(60));
    if (found === null) throw problem("invalid character class range", this.#pattern, `\\${letter}`);
    this.#at += found[0].length;
    const name = found[2] ?? found[3] ?? "";
    const isNegated = (letter === "P") !== (found[1] === "^");
    const property = name === "Any" || name.length <= 2 ? name : `Script=${name}`;
    return `\\${isNegated ? "P" : "p"}{${property}}`;
  }

  #hexadecimal(): string {
    const found = /^(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2}))/.exec(this.#rest(8));
    const code = Number.parseInt(found?.[1] ?? found?.[2] ?? "", 16);
    if (found === null || !(code <= 0x10ffff)) throw problem("invalid escape sequence", this.#pattern, "\\x");
    this.#at += found[0].length;
    return hex(code);
  }

  #set(flags: Flags): Node {
    const isNegated = this.#take("^");
    let inner = "";
    for (let first = true; ; first = false) {
      const one = this.#text[this.#at];
      if (one === undefined) throw problem("missing closing ]", this.#pattern);
      if (one === "]" && !first) break;
      const named = /^\[:(\^?)(\w+):\]/.exec(this.#rest(14));
      if (named !== null) {
        const known = Object.hasOwn(posix, named[2] ?? "") ? posix[named[2] ?? ""] : undefined;
        if (known === undefined) throw problem("invalid character class range", this.#pattern, named[0]);
        this.#at += named[0].length;
        inner += named[1] === "^" ? complement(known) : known;
        continue;
      }
      this.#at++;
      if (one === "\\") inner += this.#escapedSet();
      // A hyphen is a range's where something is on both of its sides.
      else if (one === "-" && !first && this.#text[this.#at] !== "]") inner += "-";
      else inner += hex(one.codePointAt(0) ?? 0);
    }
    this.#at++;
    return ofSet(inner, isNegated, flags, this.#pattern);
  }

  #take(one: string): boolean {
    if (this.#text[this.#at] !== one) return false;
    this.#at++;
    return true;
  }

  #takeAll(text: string): boolean {
    if (this.#rest(text.length) !== text) return false;
    this.#at += text.length;
    return true;
  }

  #rest(length: number): string {
    return this.#text.slice(this.#at, this.#at + length).join("");
  }
}

/** Where nothing is added: `complement` of ASCII sets only, in ranges that JavaScript takes in a set. */
function complement(set: string): string {
  const inside = new RegExp(`[${set}]`, "u");
  let text = "";
  for (let code = 0; code < 128; code++) if (!inside.test(String.fromCharCode(code))) text += hex(code);
  return `${text}\\u{80}-\\u{10FFFF}`;
}

function hex(code: number): string {
  return `\\u{${code.toString(16)}}`;
}

function character(matches: (code: number) => boolean): Node {
  return { is: "character", matches };
}

function assertion(what: Assertion): Node {
  return { is: "assertion", what };
}

function literal(one: string, flags: Flags): Node {
  const code = one.codePointAt(0) ?? 0;
  if (!flags.ignoresCase) return character((other) => other === code);
  return ofSet(hex(code), false, flags, one);
}

/** One character of a set is all that JavaScript's own expressions are asked about: that takes no time. */
function ofSet(inner: string, isNegated: boolean, { ignoresCase }: Flags, pattern: string): Node {
  let set: RegExp;
  try {
    set = new RegExp(`[${isNegated ? "^" : ""}${inner}]`, ignoresCase ? "iu" : "u");
  } catch {
    throw problem("invalid character class range", pattern);
  }
  const ascii = Uint8Array.from({ length: 128 }, (_, code) => (set.test(String.fromCharCode(code)) ? 1 : 0));
  return character((code) => (code < 128 ? ascii[code] === 1 : set.test(String.fromCodePoint(code))));
}

function withFlags(flags: Flags, on: string, off: string): Flags {
  const of = (letter: string, now: boolean) => (on.includes(letter) ? true : off.includes(letter) ? false : now);
  return {
    ignoresCase: of("i", flags.ignoresCase),
    multiline: of("m", flags.multiline),
    dotAll: of("s", flags.dotAll),
    lazy: of("U", flags.lazy),
  };
}

function problem(what: string, pattern: string, part = pattern): Error {
  return new Error(`error parsing regexp: ${what}: \`${part}\``);
}
