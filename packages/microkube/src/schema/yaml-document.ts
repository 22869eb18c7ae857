import type { Document, DocumentOptions, LineCounter, ParseOptions, SchemaOptions, CST as Tokens } from "yaml";
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

  function compose(token: Tokens.Token): Document[] {
    return withoutStacks(() => composer.next(token));
  }

  /** Undefined where others may go on. */
  function* composed(): Generator<Document | undefined> {
    const { lineCounter } = options;
    lineCounter.addNewLine(0);
    const parser = new yaml.Parser(lineCounter.addNewLine);
    let count = 0;
    for (const lexeme of new yaml.Lexer().lex(text)) {
      for (const token of parser.next(lexeme)) {
        yield* compose(token);
        // One mistake is told of. There may be as many as there are characters.
        if (token.type === "error") return yield* withoutStacks(() => composer.end(true, text.length));
      }
      if (++count % AT_ONCE === 0) yield undefined;
    }
    for (const token of parser.end()) {
      yield undefined;
      yield* compose(token);
    }
    yield* withoutStacks(() => composer.end(true, text.length));
  }
}

/** What is found wrong in a document is an error each, and to note where in the program took most of the time. */
function withoutStacks(compose: () => Iterable<unknown>): Document[] {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return [...compose()] as Document[];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function rangeOf({ range }: Document): [number, number] {
  return [range?.[0] ?? 0, range?.[1] ?? 0];
}
