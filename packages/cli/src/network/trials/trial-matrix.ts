import { table } from "../../output/table.ts";
import { shownInLine } from "../../output/terminal-text.ts";
import { COLUMNS, type Outcome, type TrialRow } from "./trials.ts";

const WORDS = { Passed: "ok", Failed: "FAILED", NotTested: "-" } as const;

/**
 * A line for each direction; below it what failed, what could not be tested and why, and how much of each there was. What many directions lack for the same
 * reason is one line, unless each is asked for.
 */
export function matrix(rows: readonly TrialRow[], isEach = false): string {
  const cells = rows.map(({ from, to, outcomes }) => [
    from,
    to,
    ...COLUMNS.map((column) => {
      const { result, detail } = outcomes[column];
      return result === "Passed" && (column === "latency" || column === "mtu") ? detail : WORDS[result];
    }),
  ]);
  const headers = ["FROM", "TO", ...COLUMNS.map((column) => column.toUpperCase())];
  const remarks = [...failures(rows), ...hint(rows), ...lacks(rows, isEach)].map(shownInLine);
  return `${table(headers, cells)}\n${[...remarks, sum(rows)].join("\n")}\n`;
}

function failures(rows: readonly TrialRow[]): string[] {
  return rows.flatMap((row) =>
    COLUMNS.filter((column) => row.outcomes[column].result === "Failed").map(
      (column) => `FAILED: ${column} ${way(row)}: ${row.outcomes[column].detail}`,
    ),
  );
}

/** A policy of the pods' own may want it so: which of a namespace's pods ask is by chance. */
function hint(rows: readonly TrialRow[]): string[] {
  const isDropped = rows.some(({ outcomes: { pod, service } }) =>
    [pod, service].some(({ result }) => result === "Failed"),
  );
  return isDropped
    ? [
        "`fjord network explain POD ADDRESS -n NAMESPACE` says where it is dropped, also by a NetworkPolicy that means these pods",
      ]
    : [];
}

function lacks(rows: readonly TrialRow[], isEach: boolean): string[] {
  const ways = new Map<string, { readonly what: string; readonly why: string; readonly rows: TrialRow[] }>();
  for (const [index, row] of rows.entries()) {
    for (const [how, reasons] of Object.entries(LACKS)) {
      for (const why of new Set(COLUMNS.flatMap((column) => reasons(row.outcomes[column])))) {
        const what = `${how}: ${COLUMNS.filter((column) => reasons(row.outcomes[column]).includes(why)).join(", ")}`;
        const key = JSON.stringify([what, why, isEach ? index : ""]);
        const known = ways.get(key) ?? { what, why, rows: [] };
        known.rows.push(row);
        ways.set(key, known);
      }
    }
  }
  return [...ways.values()].map(({ what, why, rows: [first, ...others] }) => {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `${what} ${way(first as TrialRow)}${more}${why}`;
  });
}

/** Why something was not tested: at all, or in a namespace, or by all means; the words are those of the sum. */
const LACKS = {
  "not tested": ({ result, detail }: Outcome) => (result === "NotTested" ? [`: ${detail}`] : []),
  "tested in part": ({ except = [] }: Outcome) => except.map((each) => `, not ${each}`),
};

function way({ from, to }: TrialRow): string {
  return `from ${from} to ${to}`;
}

function sum(rows: readonly TrialRow[]): string {
  const all = rows.flatMap(({ outcomes }) => COLUMNS.map((column) => outcomes[column]));
  const count = (wanted: Outcome["result"]) => all.filter(({ result }) => result === wanted).length;
  const partly = all.filter(({ except = [] }) => except.length > 0).length;
  const some = partly === 0 ? "" : `; ${partly} of these tested in part`;
  return `${count("Passed")} passed, ${count("Failed")} failed, ${count("NotTested")} not tested${some}`;
}
