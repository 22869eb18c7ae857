import { type FaultResult, HEADINGS, rowOf } from "./fault-result.ts";

/** What is tried besides, by a part of its name. */
const OTHERS = {
  "put back": "an API that is put back to an old state",
  "cut for 600 s":
    "a link that is cut for ten minutes (between gateways in network namespaces, without Kubernetes, connections go on after it: `FJORD_TEST_CUT_SECONDS=600 npm test -- gateway/silence`)",
};

/** What was measured, as a page. */
export function faultPage(results: readonly FaultResult[]): string {
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  const days = [...new Set(results.map(({ on }) => on))].sort();
  const passed = results.filter((each) => each.passed).length;
  const isMissing = (part: string) => !results.some(({ fault }) => fault.includes(part));
  const missing = Object.entries(OTHERS).flatMap(([part, words]) => (isMissing(part) ? [words] : []));
  const isAskedApart = results.some(({ othersFailureMs }) => othersFailureMs !== undefined);
  return `# What do pods notice when something under a link breaks?

<!-- Written by \`npm run generate\` from docs/faults.json, which \`npm run faults -- --write\` writes. -->

Measured on ${listed(days)}: ${passed} of ${results.length} as promised. Two sites of real Kubernetes with two real nodes each, on one machine with two processors${loadsOf(results)}, ${versionsOf(results)}, have the same ranges for pods and are joined by one link; each node may carry it. Between a pod at home, on the node that does not carry the link, and one at
the provider go, in both directions, a connection with numbered records (50 a second, the same one throughout), datagrams that are answered (50 a second), and new connections to a Service that has endpoints at both sites (10 a second). Figures are of both directions where there are two.

| | |
|---|---|
| BLACK HOLE | the longest time in which no datagram was answered |
| DATAGRAMS LOST | of those sent while it was watched: the question or its answer |
| TCP SILENT | the longest time in which a connection brought nothing; TCP itself waits longer and longer before it tries again. Why it ended, where it did |
| NEW CONNECTIONS FAIL | until how long after the fault one was begun that failed, to any endpoint of the Service${isAskedApart ? "; where a node is gone, also those to endpoints on other nodes, each asked by itself" : ""} |

${line(HEADINGS)}
${line(HEADINGS.map(() => "---"))}
${results.map((result) => line(rowOf(result))).join("\n")}

${missing.length === 0 ? "" : `Not measured yet: ${missing.join("; ")}. `}${remarksOf(results)}New connections that meet a pod of a node that is gone fail until Kubernetes has left it out of the Service, once it takes the node for lost (its controller manager's \`--node-monitor-grace-period\`). When an API is put back, what of Kubernetes watches it is started anew, as its documentation asks for; agents, gateways and containers go on.

\`\`\`sh
npm run faults                        # all of them, with shorter cuts; a table at the end
npm run faults -- --long --write      # the link cut for ten minutes, the API away for three; writes this page
npm run faults -- --name "a key"      # a part, whose results take the place of earlier ones with --write
\`\`\`
`;
}

function loadsOf(results: readonly FaultResult[]): string {
  const loads = results.flatMap(({ load }) => load ?? []);
  if (loads.length < results.length) return " that had much else to do";
  return `, at loads of ${Math.min(...loads)} to ${Math.max(...loads)}`;
}

function versionsOf(results: readonly FaultResult[]): string {
  const versions = new Set(results.map(({ version }) => version));
  const [first] = versions;
  return versions.size === 1 && first !== undefined ? `in version ${first}` : "in parts and not all of one version";
}

/** What is to be known of single rows, those with the same remark together. */
function remarksOf(results: readonly FaultResult[]): string {
  const remarked = results.filter(({ remark }) => remark !== undefined);
  return Map.groupBy(remarked, ({ remark }) => remark)
    .entries()
    .map(([remark, rows]) => {
      const names = rows.map(({ fault, part }) => (part === undefined ? fault : `${fault}: ${part}`));
      return `${names.join("; ")}: ${remark}. `.replace(/^./, (first) => first.toUpperCase());
    })
    .toArray()
    .join("");
}

function listed(words: readonly string[]): string {
  const [last = "", ...others] = [...words].reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} and ${last}`;
}
