import type { Document, Lexer, Node, Pair, CST as Tokens } from "yaml";
import type { Steps } from "../pace.ts";
import { tooLarge } from "../status-error.ts";

/** What is used of the reader, which is loaded when first needed. */
interface Reader {
  readonly Lexer: typeof Lexer;
  readonly CST: Pick<typeof Tokens, "tokenType">;
  isAlias(node: unknown): boolean;
  isCollection(node: unknown): boolean;
  isPair(node: unknown): boolean;
}

/** What aliases may add to a document, in nodes: what they stand for, and those that are looked through for it. */
const MOST_ADDED = 1_000_000;

/** What one document may have of keys, values and marks: what is more is better sent as JSON, which is read at once. */
const MOST_TOKENS = 100_000;
/** And of characters: one text within it is read at once, in several times what JSON takes. */
const LONGEST = 2 * 1024 * 1024;
/** With blanks, line ends and comments there are several for each of those. */
const MOST_LEXEMES = 500_000;
/** Each line of a text within it is looked at on its own, and all of them at once. */
const MOST_LINES = 200_000;
/** After so many others may go on. */
const AT_ONCE = 2_000;

const counted = new Set([
  ...["scalar", "single-quoted-scalar", "double-quoted-scalar", "alias", "map-value-ind", "seq-item-ind", "comma"],
  ...["flow-map-start", "flow-seq-start", "flow-map-end", "flow-seq-end"],
]);

const asJson = (what: string) => tooLarge(`more than ${what} in YAML; send it as JSON`);

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/**
 * Refuses a text that is nested more deeply than that, or has too much in it, found out from its tokens alone: to build what
 * they stand for takes memory and time beyond measure. What is one level in a text may be two in its value, a list below its key.
 */
export function* checkTokens(text: string, deepest: number, { Lexer, CST }: Reader): Steps<void> {
  if (text.length > LONGEST) throw asJson(`${LONGEST} characters`);
  if (countLines(text) > MOST_LINES) throw asJson(`${MOST_LINES} lines`);
  /** Where what is open begins, in columns, of the blocks; and how many brackets are. */
  const columns: number[] = [];
  let brackets = 0;
  let column = 0;
  let isFirst = true;
  let keys = 0;
  const open = (at: number) => {
    while (columns.length > 0 && (columns.at(-1) as number) > at) columns.pop();
    if (columns.at(-1) !== at) columns.push(at);
  };
  let count = 0;
  let seen = 0;
  for (const source of new Lexer().lex(text)) {
    if (++seen % AT_ONCE === 0) yield;
    if (seen > MOST_LEXEMES) throw asJson(`${MOST_LEXEMES} parts`);
    const type = CST.tokenType(source);
    if (type !== null && counted.has(type) && ++count > MOST_TOKENS) {
      throw asJson(`${MOST_TOKENS} keys, values and marks`);
    }
    // Marks of the lexer's own, which are not in the text.
    if (type === "scalar" || type === "doc-mode") continue;
    if (type === "flow-error-end") {
      brackets = 0;
      continue;
    }
    if (type === "flow-map-start" || type === "flow-seq-start") brackets++;
    else if (type === "flow-map-end" || type === "flow-seq-end") brackets--;
    else if (brackets === 0 && type !== "space" && type !== "newline" && type !== "comment") {
      const isIndicator = type === "seq-item-ind" || type === "explicit-key-ind";
      const isAnotherKey = type === "map-value-ind" && keys++ > 0;
      if (isFirst || isIndicator || isAnotherKey) open(column);
      isFirst = isIndicator;
      if (isIndicator) keys = 0;
    }
    if (columns.length + brackets > deepest) throw new Error("yaml: exceeded max depth");
    const line = source.lastIndexOf("\n");
    column = line < 0 ? column + source.length : source.length - line - 1;
    if (line < 0) continue;
    isFirst = true;
    keys = 0;
  }
}

/** Whether the aliases of a document make so much more of it that it is meant to. */
export function aliasesTooMuch(document: Document, { isAlias, isCollection, isPair }: Reader): boolean {
  const sizes = new Map<string, number>();
  let seen = 0;
  let added = 0;
  const sizeOf = (node: unknown): number => {
    seen++;
    if (isAlias(node)) {
      const size = sizes.get((node as { source: string }).source) ?? 0;
      added += size + seen;
      return size;
    }
    let size = 1;
    if (isPair(node)) size = sizeOf((node as Pair).key) + sizeOf((node as Pair).value);
    else if (isCollection(node)) for (const one of (node as { items: unknown[] }).items) size += sizeOf(one);
    const { anchor } = (node ?? {}) as Partial<Node> & { anchor?: string };
    if (anchor !== undefined) sizes.set(anchor, size);
    return size;
  };
  sizeOf(document.contents);
  return added > MOST_ADDED;
}
