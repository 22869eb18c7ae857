import { InvalidJsonPath } from "./errors.ts";

/** A value to compare with in a filter. */
export type Operand = { readonly path: Path } | { readonly value: string | number | boolean | null };

export type Step =
  | { readonly type: "field"; readonly name: string }
  | { readonly type: "all" }
  | { readonly type: "below" }
  | { readonly type: "index"; readonly index: number }
  | { readonly type: "slice"; readonly from?: number; readonly to?: number; readonly by: number }
  | { readonly type: "union"; readonly choices: readonly Step[] }
  | { readonly type: "filter"; readonly left: Operand; readonly operator?: string; readonly right?: Operand };

export interface Path {
  /** Whether it starts at the whole and not where it stands. */
  readonly fromRoot: boolean;
  readonly steps: readonly Step[];
}

export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "path"; readonly path: Path }
  | { readonly type: "range"; readonly path: Path; readonly parts: readonly Part[] };

const OPERATORS = ["==", "!=", "<=", ">=", "<", ">"];

/** Reads a template in the language of `kubectl -o jsonpath=`. */
export function parseTemplate(template: string): readonly Part[] {
  return new Parser(template).parts(false);
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parts(inRange: boolean): Part[] {
    const found: Part[] = [];
    while (this.#at < this.#text.length) {
      const open = this.#text.indexOf("{", this.#at);
      const until = open < 0 ? this.#text.length : open;
      if (until > this.#at) found.push({ type: "text", text: this.#text.slice(this.#at, until) });
      this.#at = until;
      if (open < 0) break;
      this.#at++;
      if (this.#action(found, inRange)) return found;
    }
    if (inRange) this.#fail("a {range} has no {end}");
    return found;
  }

  /** What stands between braces; true for the end of a range. */
  #action(found: Part[], inRange: boolean): boolean {
    this.#spaces();
    const word = /^(range|end)(?=[\s}])/.exec(this.#rest())?.[1];
    if (word !== undefined) this.#at += word.length;
    if (word === "end") {
      this.#close();
      if (!inRange) this.#fail("{end} without {range}");
      return true;
    }
    if (word === "range") {
      this.#spaces();
      const path = this.#path();
      this.#close();
      found.push({ type: "range", path, parts: this.parts(true) });
      return false;
    }
    while (!this.#takes("}")) {
      if (this.#rest() === "") this.#fail("a { has no }");
      const quoted = this.#quoted();
      if (quoted !== undefined) found.push({ type: "text", text: quoted });
      else found.push({ type: "path", path: this.#path() });
      this.#spaces();
    }
    return false;
  }

  #path(): Path {
    const fromRoot = this.#takes("$");
    const fromHere = !fromRoot && this.#takes("@");
    const begin = this.#at;
    const steps: Step[] = [];
    for (let step = this.#step(); step !== undefined; step = this.#step()) steps.push(...step);
    if (this.#at === begin && !fromRoot && !fromHere)
      this.#fail(`'${this.#rest().slice(0, 12)}' is no path: one begins with a dot`);
    return { fromRoot, steps };
  }

  #step(): Step[] | undefined {
    if (this.#takes("..")) return [{ type: "below" }, ...(this.#rest().startsWith("[") ? [] : this.#name())];
    if (this.#takes(".")) return this.#rest().startsWith("[") ? [] : this.#name();
    if (!this.#takes("[")) return undefined;
    const choices: Step[] = [];
    do {
      this.#spaces();
      choices.push(this.#choice());
      this.#spaces();
    } while (this.#takes(","));
    if (!this.#takes("]")) this.#fail("a [ has no ]");
    const [only] = choices;
    return choices.length === 1 && only !== undefined ? [only] : [{ type: "union", choices }];
  }

  #name(): Step[] {
    if (this.#takes("*")) return [{ type: "all" }];
    const match = /^(?:\\.|[^\s.[\](){}=!<>|,'"\\])+/.exec(this.#rest());
    if (match === null) return [];
    this.#at += match[0].length;
    return [{ type: "field", name: match[0].replaceAll(/\\(.)/g, "$1") }];
  }

  #choice(): Step {
    if (this.#takes("*")) return { type: "all" };
    if (this.#takes("?(")) return this.#filter();
    const name = this.#quoted();
    if (name !== undefined) return { type: "field", name };
    const match = /^(-?\d+)?(?:(:)(-?\d+)?(?::(\d+))?)?(?=\s*[,\]])/.exec(this.#rest());
    if (match === null || match[0] === "") return this.#fail(`'${this.#rest().slice(0, 12)}' is no index`);
    this.#at += match[0].length;
    const [, from, colon, to, by] = match;
    if (colon === undefined) return { type: "index", index: Number(from) };
    return {
      type: "slice",
      ...(from !== undefined && { from: Number(from) }),
      ...(to !== undefined && { to: Number(to) }),
      by: Number(by ?? 1),
    };
  }

  #filter(): Step {
    const left = this.#operand();
    this.#spaces();
    const operator = OPERATORS.find((each) => this.#takes(each));
    const right = operator === undefined ? undefined : this.#operand();
    this.#spaces();
    if (!this.#takes(")")) this.#fail("a filter is @.field, or @.field and what to compare it with");
    return { type: "filter", left, ...(operator !== undefined && { operator }), ...(right !== undefined && { right }) };
  }

  #operand(): Operand {
    this.#spaces();
    const quoted = this.#quoted();
    if (quoted !== undefined) return { value: quoted };
    const literal = /^(?:true|false|null|-?\d+(?:\.\d+)?)(?=[\s)=!<>])/.exec(this.#rest())?.[0];
    if (literal === undefined) return { path: this.#path() };
    this.#at += literal.length;
    return { value: JSON.parse(literal) as number | boolean | null };
  }

  #quoted(): string | undefined {
    const match = /^(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')/s.exec(this.#rest());
    if (match === null) return undefined;
    this.#at += match[0].length;
    const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
    return (match[1] ?? match[2] ?? "").replaceAll(/\\(.)/gs, (_, char: string) => escapes[char] ?? char);
  }

  #close(): void {
    this.#spaces();
    if (!this.#takes("}")) this.#fail("a { has no }");
  }

  #spaces(): void {
    this.#at += /^\s*/.exec(this.#rest())?.[0].length ?? 0;
  }

  #takes(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #rest(): string {
    return this.#text.slice(this.#at);
  }

  #fail(reason: string): never {
    throw new InvalidJsonPath({ text: this.#text, reason });
  }
}
