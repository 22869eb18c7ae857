import { type Cell, matrixTable } from "./matrix-cell.ts";

/** The matrix as a page. */
export function matrixPage(cells: readonly Cell[]): string {
  const [head = [], ...rows] = matrixTable(cells);
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  const failed = cells.filter(({ passed }) => !passed);
  const ways = [...new Set(cells.flatMap(({ topology, way }) => (way === undefined ? [] : `${topology}: ${way}`)))];
  return `# Do links work between all sorts of sites?

<!-- Written by \`npm run generate\` from docs/matrix.json, which \`npm run matrix\` writes. -->

${cells.filter(({ passed }) => passed).length} of ${cells.length} cells passed, of 120. Each is of two sites of real Kubernetes with a real kubelet, containers, kube-router as the pods' network, and a third site that both have links with. In each a
container's requests are answered by the very pod or host that they are meant for, in both directions where there are two, and requests that have to be refused are: of a pod of another namespace, of pods that a NetworkPolicy
of the namespace denies (at home, and at the provider by its twin), and to a port that is not exported. Those with \`-\`, and those without a line, were not tried yet.

${line(head)}
${line(head.map(() => "---"))}
${rows.map(line).join("\n")}

How gateways met, as far as they say: ${ways.length === 0 ? "nothing" : ways.join("; ")}.

${failed.length === 0 ? "Nothing failed." : failed.map(({ ranges, families, topology, traffic, reason }) => `- ${ranges}, ${families}, ${topology}, ${traffic}: ${reason}`).join("\n")}

\`\`\`sh
npm run matrix                                        # all of it: an hour on two cores
npm run matrix -- --ranges overlap --families ipv6    # a part, whose results take the place of earlier ones
\`\`\`
`;
}
