import { SelectorError } from "./label-selector.ts";

/** One term of a field selector. */
export interface FieldTerm {
  readonly field: string;
  readonly value: string;
  readonly negated: boolean;
}

/** What a `fieldSelector` parameter says: all terms must hold. Throws `SelectorError`. */
export function parseFieldSelector(text: string): FieldTerm[] {
  return split(text)
    .filter((term) => term !== "")
    .map((term) => {
      const at = operatorAt(term);
      if (at === undefined) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
      const value = unescaped(term.slice(at.index + at.operator.length), text);
      return { field: term.slice(0, at.index), value, negated: at.operator === "!=" };
    });
}

/** Commas part terms, unless a backslash is before them. */
function split(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function operatorAt(term: string): { index: number; operator: string } | undefined {
  for (let index = 0; index < term.length; index++) {
    for (const operator of ["!=", "==", "="]) if (term.startsWith(operator, index)) return { index, operator };
  }
  return undefined;
}

function unescaped(value: string, text: string): string {
  let result = "";
  for (let i = 0; i < value.length; i++) {
    const one = value[i] as string;
    if (one === "\\") {
      const next = value[++i];
      if (next === undefined || !["\\", ",", "="].includes(next)) {
        throw new SelectorError(
          `invalid field selector: invalid escape sequence: ${JSON.stringify(`\\${next ?? ""}`)}`,
        );
      }
      result += next;
    } else if (one === "," || one === "=") {
      throw new SelectorError(`invalid selector: '${text}'; can't understand '${value}'`);
    } else result += one;
  }
  return result;
}
