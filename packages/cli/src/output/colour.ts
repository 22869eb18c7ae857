import type { CommandContext, Style } from "../command-line/command-context.ts";

/** Words of tables that say how things are. */
const MEANINGS: readonly (readonly [Style, RegExp])[] = [
  ["green", /(?<=^|\s{2})(True|Active|Open|Running|Succeeded)(?=\s{2}|$)/g],
  ["red", /(?<=^|\s{2})(False|Failed|Unreachable|Ended)(?=\s{2}|$)/g],
  ["yellow", /(?<=^|\s{2})(Unknown|Cordoned|Drained|Draining|Pending|Proposed)(?=\s{2}|$)/g],
];

/** Colours a table that is aligned already: headings stand out, and so does what is well and what is not. */
export function colourTable(text: string, paint: CommandContext["paint"]): string {
  const line = (each: string) => {
    if (/^\s*[A-Z]{2,}( {3}|$)/.test(each)) return paint("dim", each);
    if (/^[A-Z][a-z ]+$/.test(each)) return paint("bold", each);
    return MEANINGS.reduce((shown, [style, words]) => shown.replace(words, (word) => paint(style, word)), each);
  };
  return text.split("\n").map(line).join("\n");
}
