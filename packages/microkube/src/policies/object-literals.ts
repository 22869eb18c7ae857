/**
 * Policies write objects as `Object{spec: Object.spec{replicas: 3}}` and `JSONPatch{op: "add", ...}`. Here they become plain
 * maps: `{"spec": {"replicas": 3}}`. Texts and comments stay as they are.
 */
export function plainLiterals(expression: string): string {
  const tokens: string[] =
    expression.match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*|\s+|[\s\S]/g) ?? [];
  /** For each open brace or bracket: whether bare names before a colon are keys in it. */
  const open: boolean[] = [];
  let result = "";
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as string;
    const next = tokens.slice(index + 1).find((one) => one.trim() !== "");
    if (/^(Object(\.\w+)*|JSONPatch)$/.test(token) && next === "{") {
      index = tokens.indexOf("{", index + 1);
      open.push(true);
      result += "{";
      continue;
    }
    if ("{[(".includes(token)) open.push(false);
    else if ("}])".includes(token)) open.pop();
    const isKey = open.at(-1) === true && next === ":" && /^[A-Za-z_]\w*$/.test(token) && isAfterSeparator(result);
    result += isKey ? JSON.stringify(token) : token;
  }
  return result;
}

/** A name after `{` or `,` is a key; one after `?` is part of a condition. */
function isAfterSeparator(text: string): boolean {
  return /[{,]\s*$/.test(text);
}
