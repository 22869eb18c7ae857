import type { Labels } from "../label-selector.ts";

/** A selector as the API writes it in one line, such as `app=web,tier in (a,b),!old`. An empty one selects nothing. */
export function labelPredicate(text: string): (labels: Labels) => boolean {
  const terms = text.match(/(?:[^,(]|\([^)]*\))+/g)?.map((term) => term.trim()) ?? [];
  const tests = terms.map(parseTerm);
  return (labels) => tests.length > 0 && tests.every((test) => test(labels));
}

function parseTerm(term: string): (labels: Labels) => boolean {
  const [, setKey, operator, list] = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term) ?? [];
  if (setKey !== undefined) {
    const values = (list ?? "").split(",").map((value) => value.trim());
    return operator === "in"
      ? (labels) => labels[setKey] !== undefined && values.includes(labels[setKey])
      : (labels) => labels[setKey] === undefined || !values.includes(labels[setKey]);
  }
  if (term.startsWith("!")) return (labels) => labels[term.slice(1)] === undefined;
  const [, key = "", sign, value = ""] = /^([^=!]+)(!=|==?)(.*)$/.exec(term) ?? [];
  if (sign === undefined) return (labels) => labels[term] !== undefined;
  return sign === "!=" ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
}
