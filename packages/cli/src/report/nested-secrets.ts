import { isSecretName } from "./secret-names.ts";

/** A name at the end of a line, whose value is below it: `password:`, `password: |`, `"passwords": [`. */
const OPENING =
  /(?<![\w$])([A-Za-z_$][\w.$/-]{0,120})\\{0,9}["']?[ \t]{0,9}[:=][ \t]{0,9}(?:[!&][\w!/.-]{0,40}[ \t]{1,9}){0,2}(?:[|>][+\d-]{0,3}|[{[]|"""|''')?[ \t\r]{0,9}$/;
/** Longer than all that can be one. */
const LONGEST_OPENING = 260;

/**
 * Finds lines that are a secret as a whole, since they stand indented below the name of one, as YAML and JSON have it. Lines are to be
 * given one after the other.
 */
export function nestedSecrets(): (line: string) => boolean {
  /** How far what is below must be indented at least, while there may be more of it. */
  let above: { readonly indent: number; readonly isList: boolean } | undefined;
  return (line) => {
    const indent = line.length - line.trimStart().length;
    if (above !== undefined) {
      if (indent === line.length || indent > above.indent) return indent !== line.length;
      // Lists of YAML may stand right below their name.
      if (above.isList && indent === above.indent && /^-(?:\s|$)/.test(line.slice(indent, indent + 2))) return true;
    }
    above = undefined;
    const tail = line.slice(-LONGEST_OPENING);
    const found = OPENING.exec(tail);
    if (found !== null && isSecretName(found[1] ?? "")) {
      const before = line.slice(0, line.length - tail.length + found.index);
      // Names that stand below each other: `- password:` ends with a name that is as far to the right.
      const isAlone = before.length < 200 && /^[\s-]*["']?$/.test(before);
      above = { indent: isAlone ? before.replace(/["']$/, "").length : indent, isList: isAlone };
    }
    return false;
  };
}
