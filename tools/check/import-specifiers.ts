// Every module that a TypeScript source names: statements, re-exports, type imports, dynamic imports, require. A lexer,
// because a regular expression cannot tell code from comments and strings.

export interface ImportSpecifier {
  specifier: string;
  line: number;
}

interface Token {
  type: "word" | "string" | "mark";
  text: string;
  line: number;
}

export function importsOf(source: string): ImportSpecifier[] {
  const tokens = tokensOf(source);
  return tokens.flatMap((token, index) => {
    const found = token.type === "word" ? specifierAt(tokens, index) : undefined;
    return found === undefined ? [] : [{ specifier: found.text, line: token.line }];
  });
}

/** Functions that take the name of a module. */
const LOADERS = new Set(["require", "getBuiltinModule"]);

/** The string that names a module, if the word at `index` begins a construct that does. */
function specifierAt(tokens: readonly Token[], index: number): Token | undefined {
  const word = tokens[index]?.text ?? "";
  const next = tokens[index + 1];
  if (LOADERS.has(word)) return next?.text === "(" ? stringAt(tokens, index + 2) : undefined;
  if (word === "import" && tokens[index - 1]?.text === ".") return undefined;
  if (word === "import" && next?.text === "(") return stringAt(tokens, index + 2);
  if (word === "import" && next?.type === "string") return next;
  if (word !== "import" && word !== "export") return undefined;
  return clauseSource(tokens, index + 1);
}

/** The string after `from` that ends the clause beginning at `start`; a declaration has none. */
function clauseSource(tokens: readonly Token[], start: number): Token | undefined {
  let depth = 0;
  for (let index = start; index < tokens.length; index++) {
    const { type, text } = tokens[index] as Token;
    if (text === "{") depth++;
    else if (text === "}") depth--;
    else if (depth === 0 && type === "word" && text === "from") return stringAt(tokens, index + 1);
    else if (depth === 0 && !(type === "word" && !DECLARES.has(text)) && text !== "," && text !== "*") return undefined;
  }
  return undefined;
}

const DECLARES = new Set(["const", "let", "var", "function", "class", "interface", "enum", "async", "abstract"]);

function stringAt(tokens: readonly Token[], index: number): Token | undefined {
  return tokens[index]?.type === "string" ? tokens[index] : undefined;
}

const LEXEME =
  /(?<space>\s+)|(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'|`(?:[^`\\$]|\\[\s\S]|\$(?!\{))*`)|(?<word>[\p{L}\p{N}_$#]+)|(?<mark>[\s\S])/uy;
const REGULAR_EXPRESSION = /\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  /** For each template literal that is open: how many braces are open in its substitution. */
  const templates: number[] = [];
  let line = 1;
  for (let position = 0; position < source.length; ) {
    const start = position;
    const open = templates.length - 1;
    if (source[position] === "}" && templates[open] === 0) {
      templates.pop();
      position = templateEnd(source, position + 1, templates);
    } else if (
      source[position] === "/" &&
      beginsExpression(tokens.at(-1)) &&
      !/[/*]/.test(source[position + 1] ?? "")
    ) {
      REGULAR_EXPRESSION.lastIndex = position;
      position += REGULAR_EXPRESSION.exec(source)?.[0].length ?? 1;
    } else {
      LEXEME.lastIndex = position;
      const { groups = {}, 0: text } = LEXEME.exec(source) as RegExpExecArray;
      position += text.length;
      if (groups.string) tokens.push({ type: "string", text: text.slice(1, -1), line });
      else if (groups.word) tokens.push({ type: "word", text, line });
      else if (text === "`") position = templateEnd(source, position, templates);
      else if (groups.mark) {
        tokens.push({ type: "mark", text, line });
        if (open >= 0 && text === "{") templates[open] = (templates[open] ?? 0) + 1;
        if (open >= 0 && text === "}") templates[open] = (templates[open] ?? 0) - 1;
      }
    }
    line += source.slice(start, position).split("\n").length - 1;
  }
  return tokens;
}

/** Skips the text of a template literal up to its end or its next substitution, which is code again. */
function templateEnd(source: string, position: number, templates: number[]): number {
  for (let index = position; index < source.length; index++) {
    if (source[index] === "\\") index++;
    else if (source[index] === "`") return index + 1;
    else if (source[index] === "$" && source[index + 1] === "{") {
      templates.push(0);
      return index + 2;
    }
  }
  return source.length;
}

/** Whether a slash after this token begins a regular expression and is no division. */
function beginsExpression(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.type === "word") return /^(?:return|typeof|case|in|of|yield|await|void|delete)$/.test(before.text);
  return before.type === "mark" && !/[)\]}]/.test(before.text);
}
