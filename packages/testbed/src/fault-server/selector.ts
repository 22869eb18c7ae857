import type { KubeObject } from "@fjord/base";

/** Says whether an object is selected. */
export type Selector = (object: KubeObject) => boolean;

/** A label and a field selector as the API takes them, both of which an object has to satisfy. */
export function parseSelector(labels: string | null, fields: string | null): Selector {
  const terms = [...split(labels).map(labelTerm), ...split(fields).map(fieldTerm)];
  return (object) => terms.every((term) => term(object));
}

function labelTerm(term: string): Selector {
  const set = /^(\S+)\s+(in|notin)\s+\((.*)\)$/.exec(term);
  if (set !== null) {
    const [, name = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return (object) => values.includes(labelOf(object, name) ?? "") === (operator === "in");
  }
  const [, name = "", operator, value] = /^([^!=]+)(==|=|!=)(.*)$/.exec(term) ?? [];
  if (operator === "!=") return (object) => labelOf(object, name) !== value;
  if (operator !== undefined) return (object) => labelOf(object, name) === value;
  if (term.startsWith("!")) return (object) => labelOf(object, term.slice(1)) === undefined;
  return (object) => labelOf(object, term) !== undefined;
}

function fieldTerm(term: string): Selector {
  const [, path = "", operator, value] = /^([^!=]+)(==|=|!=)(.*)$/.exec(term) ?? [];
  return (object) => (fieldOf(object, path) === value) === (operator !== "!=");
}

function labelOf(object: KubeObject, name: string): string | undefined {
  return object.metadata.labels?.[name];
}

function fieldOf(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const step of path.split(".")) value = (value as Record<string, unknown> | undefined)?.[step];
  return value === undefined ? "" : String(value);
}

/** Commas inside parentheses belong to a set. */
function split(selector: string | null): string[] {
  return selector?.match(/[^,(]+(\([^)]*\))?/g)?.map((term) => term.trim()) ?? [];
}
