import type { Document, DocumentOptions, LineCounter, ParseOptions, SchemaOptions } from "yaml";
import type { Steps } from "../pace.ts";

type Yaml = typeof import("yaml");
type Options = ParseOptions & DocumentOptions & SchemaOptions & { readonly lineCounter: LineCounter };

/** After so many tokens others may go on. */
const AT_ONCE = 2_000;

/** The one document of a text, as `parseDocument` reads it, in parts; its errors say their place in the text alone. */
export function* documentOf(text: string, options: Options, yaml: Yaml): Steps<Document> {
  const composer = new yaml.Composer(options);
  let first: Document | undefined;
  for (const document of composed()) {
    if (document === undefined) yield;
    else if (first === undefined) first = document;
    else {
      const why = "Source contains multiple documents; please use YAML.parseAllDocuments()";
      first.errors.push(new yaml.YAMLParseError(rangeOf(document), "MULTIPLE_DOCS", why));
      break;
    }
  }
  if (first === undefined) throw new Error("a text without a document");
  return first;

  /** Undefined where others may go on. */
  function* composed(): Generator<Document | undefined> {
    const { lineCounter } = options;
    lineCounter.addNewLine(0);
    const parser = new yaml.Parser(lineCounter.addNewLine);
    let count = 0;
    for (const lexeme of new yaml.Lexer().lex(text)) {
      for (const token of parser.next(lexeme)) yield* composer.next(token) as Generator<Document>;
      if (++count % AT_ONCE === 0) yield undefined;
    }
    for (const token of parser.end()) {
      yield undefined;
      yield* composer.next(token) as Generator<Document>;
    }
    yield* composer.end(true, text.length) as Generator<Document>;
  }
}

function rangeOf({ range }: Document): [number, number] {
  return [range?.[0] ?? 0, range?.[1] ?? 0];
}
