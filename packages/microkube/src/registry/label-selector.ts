import { labelValue, qualifiedName } from "../kinds/values/label.ts";

/** Whether something with these labels is selected. */
export type LabelMatch = (labels: Readonly<Record<string, string>>) => boolean;

interface Token {
  readonly type:
    | "end"
    | "identifier"
    | ","
    | "!"
    | "="
    | "=="
    | "!="
    | ">"
    | "<"
    | "("
    | ")"
    | "in"
    | "notin"
    | "error";
  readonly text: string;
}

const operators = ["in", "notin", "=", "==", "!=", ">", "<"];

/** A selector that cannot be read; the message is Kubernetes' own. */
export class SelectorError extends Error {}

/** What a `labelSelector` parameter says. Empty: everything. Throws `SelectorError`. */
export function parseLabelSelector(text: string): LabelMatch {
  const matches = new Parser(scan(text)).parse();
  if (matches.length === 1) return matches[0] as LabelMatch;
  return (labels) => matches.every((match) => match(labels));
}

function scan(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /[ \t\r\n]*(==|!=|[,!=><()]|[^,!=><()\s]+)/gy;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const lexeme = match[1] as string;
    const special = [",", "!", "=", "==", "!=", ">", "<", "(", ")", "in", "notin"].includes(lexeme);
    tokens.push({ type: special ? (lexeme as Token["type"]) : "identifier", text: lexeme });
  }
  tokens.push({ type: "end", text: "" });
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): LabelMatch[] {
    const matches: LabelMatch[] = [];
    for (;;) {
      const { type, text } = this.#peek();
      if (type === "end") return matches;
      if (type !== "identifier" && type !== "!") {
        throw new SelectorError(`found '${text}', expected: !, identifier, or 'end of string'`);
      }
      matches.push(this.#requirement());
      const after = this.#take();
      if (after.type === "end") return matches;
      if (after.type !== ",") throw new SelectorError(`found '${after.text}', expected: ',' or 'end of string'`);
      const next = this.#peek();
      if (next.type !== "identifier" && next.type !== "!") {
        throw new SelectorError(`found '${next.text}', expected: identifier after ','`);
      }
    }
  }

  /** `in` and `notin` are words as others where no operator can be. */
  #peek(): Token {
    const token = this.#tokens[this.#at] as Token;
    return token.type === "in" || token.type === "notin" ? { type: "identifier", text: token.text } : token;
  }

  #take(): Token {
    const token = this.#peek();
    if (this.#at < this.#tokens.length - 1) this.#at++;
    return token;
  }

  #requirement(): LabelMatch {
    let token = this.#take();
    const negated = token.type === "!";
    if (negated) token = this.#take();
    if (token.type !== "identifier") throw bad(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const wrong = qualifiedName(key);
    if (wrong.length > 0) throw bad(`<nil>: Invalid value: ${JSON.stringify(key)}: ${wrong.join("; ")}`);
    const { type } = this.#peek();
    if (negated) return (labels) => !Object.hasOwn(labels, key);
    if (type === "end" || type === ",") return (labels) => Object.hasOwn(labels, key);
    const operator = this.#tokens[this.#at] as Token;
    this.#take();
    if (!operators.includes(operator.type)) {
      throw bad(`found '${operator.text}', expected: ${["in", "notin", "=", "==", "!=", "gt", "lt"].join(", ")}`);
    }
    const values = operator.type === "in" || operator.type === "notin" ? this.#values() : [this.#value()];
    return matchOf(key, operator.type, values);
  }

  #values(): string[] {
    const open = this.#take();
    if (open.type !== "(") throw bad(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    let expectsValue = true;
    for (;;) {
      const token = this.#take();
      if (token.type === ")") {
        if (expectsValue) values.push("");
        return values;
      }
      if (token.type === "identifier" && expectsValue) {
        values.push(token.text);
        expectsValue = false;
      } else if (token.type === ",") {
        if (expectsValue) values.push("");
        expectsValue = true;
      } else throw bad(`found '${token.text}', expected: ',', or identifier`);
    }
  }

  #value(): string {
    const { type } = this.#peek();
    if (type === "end" || type === ",") return "";
    const token = this.#take();
    if (token.type !== "identifier") throw bad(`found '${token.text}', expected: identifier`);
    return token.text;
  }
}

const bad = (text: string) => new SelectorError(`unable to parse requirement: ${text}`);

function matchOf(key: string, operator: Token["type"], values: readonly string[]): LabelMatch {
  for (const value of values) {
    const wrong = labelValue(value);
    if (wrong.length > 0) throw bad(`values[0][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join("; ")}`);
  }
  const set = new Set(values);
  const [only = ""] = values;
  switch (operator) {
    case "in":
      return (labels) => Object.hasOwn(labels, key) && set.has(labels[key] as string);
    case "notin":
      return (labels) => !Object.hasOwn(labels, key) || !set.has(labels[key] as string);
    case "!=":
      return (labels) => !Object.hasOwn(labels, key) || labels[key] !== only;
    case ">":
    case "<": {
      if (!/^[-+]?\d+$/.test(only)) {
        throw bad(
          `values[0]: Invalid value: ${JSON.stringify(only)}: for 'Gt', 'Lt' operators, the value must be an integer`,
        );
      }
      const bound = BigInt(only);
      const whole = (labels: Readonly<Record<string, string>>) =>
        Object.hasOwn(labels, key) && /^-?\d+$/.test(labels[key] as string) ? BigInt(labels[key] as string) : undefined;
      return (labels) => {
        const value = whole(labels);
        return value !== undefined && (operator === ">" ? value > bound : value < bound);
      };
    }
    default:
      return (labels) => Object.hasOwn(labels, key) && labels[key] === only;
  }
}
