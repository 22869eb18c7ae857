import { type Assertion, type Node, parseExpression } from "./syntax.ts";

type Instruction =
  | { readonly do: "character"; readonly matches: (code: number) => boolean }
  | { readonly do: "assert"; readonly what: Assertion }
  /** Tries `first`, then `second`. */
  | { readonly do: "split"; first: number; second: number }
  | { readonly do: "jump"; to: number }
  | { readonly do: "match" };

const MOST_INSTRUCTIONS = 20_000;
/** Of one look at a text: some tenths of a second. */
const MOST_STEPS = 10_000_000;

/** A long text and many ways to read it. */
export class TakesTooLong extends Error {
  constructor() {
    super("the regular expression takes too long on this text");
    this.name = "TakesTooLong";
  }
}

/**
 * A regular expression as Go has them (RE2): time grows with the text, never beyond, whatever is written. JavaScript's own
 * take forever over `(a+)+$`, and whoever may make a definition could stop the server with that.
 */
export class Expression {
  readonly #program: readonly Instruction[];

  /** Throws an Error, in Go's words, where it cannot be read. */
  constructor(pattern: string) {
    const program: Instruction[] = [];
    compile(parseExpression(pattern), program, pattern);
    program.push({ do: "match" });
    this.#program = program;
  }

  /** Whether it matches anywhere in the text. */
  test(text: string): boolean {
    return new Search(this.#program, text).find(0, true) !== undefined;
  }

  /** The first match, as Go's leftmost-first. */
  find(text: string): string | undefined {
    const codes = new Search(this.#program, text);
    const found = codes.find(0, false);
    return found && codes.slice(found);
  }

  /** All matches that do not overlap; at most so many. */
  findAll(text: string, most = Number.POSITIVE_INFINITY): string[] {
    const search = new Search(this.#program, text);
    const all: string[] = [];
    let from = 0;
    let last = -1;
    while (all.length < most) {
      const found = search.find(from, false);
      if (found === undefined) break;
      // An empty match beside the one before is none.
      if (found[1] > found[0] || found[0] !== last) all.push(search.slice(found));
      last = found[1];
      from = found[1] > found[0] ? found[1] : found[1] + 1;
    }
    return all;
  }
}

function compile(node: Node, program: Instruction[], pattern: string): void {
  if (program.length > MOST_INSTRUCTIONS) throw new Error(`error parsing regexp: expression too large: \`${pattern}\``);
  switch (node.is) {
    case "empty":
      return;
    case "character":
      program.push({ do: "character", matches: node.matches });
      return;
    case "assertion":
      program.push({ do: "assert", what: node.what });
      return;
    case "sequence":
      for (const one of node.of) compile(one, program, pattern);
      return;
    case "choice":
      compileChoice(node.of, program, pattern);
      return;
    case "repeat":
      compileRepeat(node, program, pattern);
  }
}

function compileChoice(options: readonly Node[], program: Instruction[], pattern: string): void {
  const ends: { do: "jump"; to: number }[] = [];
  for (const [index, one] of options.entries()) {
    const isLast = index === options.length - 1;
    const split = { do: "split" as const, first: program.length + 1, second: 0 };
    if (!isLast) program.push(split);
    compile(one, program, pattern);
    if (isLast) break;
    const end = { do: "jump" as const, to: 0 };
    ends.push(end);
    program.push(end);
    split.second = program.length;
  }
  for (const end of ends) end.to = program.length;
}

function compileRepeat(node: Extract<Node, { is: "repeat" }>, program: Instruction[], pattern: string): void {
  const { of, least, most, greedy } = node;
  const fork = (inside: number, outside: number) =>
    greedy ? { first: inside, second: outside } : { first: outside, second: inside };
  for (let times = 0; times < least; times++) compile(of, program, pattern);
  if (most === Number.POSITIVE_INFINITY) {
    const at = program.length;
    const split = { do: "split" as const, first: 0, second: 0 };
    program.push(split);
    compile(of, program, pattern);
    program.push({ do: "jump", to: at });
    Object.assign(split, fork(at + 1, program.length));
    return;
  }
  const splits: { at: number; split: { do: "split"; first: number; second: number } }[] = [];
  for (let times = least; times < most; times++) {
    const split = { do: "split" as const, first: 0, second: 0 };
    splits.push({ at: program.length + 1, split });
    program.push(split);
    compile(of, program, pattern);
  }
  for (const { at, split } of splits) Object.assign(split, fork(at, program.length));
}

/** All ways through the program at once (Pike's machine): each instruction is at most once among them. */
class Search {
  readonly #program: readonly Instruction[];
  readonly #codes: Uint32Array;
  /** By instruction: the place in the text for which it is among the threads already, plus one. */
  readonly #seen: Uint32Array;
  /** Where each thread is, and where its match has begun: for this character, and for the next. */
  #threads: Threads;
  #next: Threads;
  readonly #waiting: number[] = [];
  #steps = 0;

  constructor(program: readonly Instruction[], text: string) {
    this.#program = program;
    this.#codes = Uint32Array.from(text, (one) => one.codePointAt(0) ?? 0);
    this.#seen = new Uint32Array(program.length);
    this.#threads = new Threads(program.length);
    this.#next = new Threads(program.length);
  }

  slice([from, to]: readonly [number, number]): string {
    let text = "";
    for (let at = from; at < to; at += 4096) {
      text += String.fromCodePoint(...this.#codes.subarray(at, Math.min(to, at + 4096)));
    }
    return text;
  }

  /** Where the first match is; `anyEnd`: it is enough to know that there is one. */
  find(from: number, anyEnd: boolean): readonly [number, number] | undefined {
    const codes = this.#codes;
    if (from > codes.length) return undefined;
    let found: readonly [number, number] | undefined;
    this.#seen.fill(0);
    this.#threads.count = 0;
    this.#follow(0, from, from);
    for (let at = from; ; at++) {
      const { instructions, starts, count } = this.#threads;
      const next = this.#next;
      next.count = 0;
      [this.#threads, this.#next] = [next, this.#threads];
      const code = codes[at];
      for (let index = 0; index < count; index++) {
        const instruction = this.#program[instructions[index] as number] as Instruction;
        const start = starts[index] as number;
        if (instruction.do === "match") {
          found = [start, at];
          if (anyEnd) return found;
          // What comes after has less of a claim.
          break;
        }
        if (code !== undefined && instruction.do === "character" && instruction.matches(code)) {
          this.#follow((instructions[index] as number) + 1, start, at + 1);
        }
      }
      if (code === undefined || (next.count === 0 && found !== undefined)) return found;
      if (found === undefined) this.#follow(0, at + 1, at + 1);
    }
  }

  /** What can be reached without taking a character, the preferred first. */
  #follow(first: number, start: number, at: number): void {
    const waiting = this.#waiting;
    waiting.push(first);
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (this.#seen[index] === at + 1) continue;
      this.#seen[index] = at + 1;
      if (++this.#steps > MOST_STEPS) throw new TakesTooLong();
      const instruction = this.#program[index] as Instruction;
      if (instruction.do === "jump") waiting.push(instruction.to);
      else if (instruction.do === "split") waiting.push(instruction.second, instruction.first);
      else if (instruction.do !== "assert") this.#threads.add(index, start);
      else if (this.#holds(instruction.what, at)) waiting.push(index + 1);
    }
  }

  #holds(what: Assertion, at: number): boolean {
    const codes = this.#codes;
    if (what === "text start") return at === 0;
    if (what === "text end") return at === codes.length;
    if (what === "line start") return at === 0 || codes[at - 1] === 10;
    if (what === "line end") return at === codes.length || codes[at] === 10;
    const isBoundary = isWord(codes[at - 1]) !== isWord(codes[at]);
    return isBoundary === (what === "word boundary");
  }
}

class Threads {
  readonly instructions: Uint32Array;
  readonly starts: Uint32Array;
  count = 0;

  constructor(most: number) {
    this.instructions = new Uint32Array(most);
    this.starts = new Uint32Array(most);
  }

  add(instruction: number, start: number): void {
    this.instructions[this.count] = instruction;
    this.starts[this.count] = start;
    this.count++;
  }
}

function isWord(code: number | undefined): boolean {
  if (code === undefined) return false;
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);
}
