import { CELLS, type Cell, matrixTable, type Topology, topologies } from "./matrix-cell.ts";
import { wantedWays } from "./way.ts";

const BETWEEN: Readonly<Record<Topology, string>> = {
  direct: "two routers; nobody leads them elsewhere",
  hub: "nothing gets from one to the other; the third site leads them to each other",
  "NAT one side": "the consumer's router hides it and lets in only answers; nobody leads them elsewhere",
  "NAT both": "both routers do; the third site says where it sees them, and both open their NAT at once",
  "symmetric NATs": "both do, and call them by another port for each peer",
  "TCP only": "no UDP passes, to the third site neither, and nobody leads them elsewhere",
};

/** The matrix as a page. */
export function matrixPage(cells: readonly Cell[]): string {
  const [head = [], ...rows] = matrixTable(cells);
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  const failed = cells.filter(({ passed }) => !passed);
  const passed = cells.filter((cell) => cell.passed);
  return `# Do links work between all sorts of sites?

<!-- Written by \`npm run generate\` from docs/matrix.json, which \`npm run matrix\` writes. -->

${passed.length} of ${cells.length} cells passed, of ${CELLS}. Each is of two sites of real Kubernetes with a real kubelet, containers, kube-router as the pods' network, and a third site that both have links with. In each a
container's requests are answered by the very pod or host that they are meant for, in both directions where there are two, and requests that have to be refused are: of a pod of another namespace, of pods that a NetworkPolicy
of the namespace denies (at home, and at the provider by its twin), and to a port that is not exported. \`shop\` is the application of the [demo](demo.md): a pod at home, and others by a port of the home's node, from beside it and from elsewhere, ask its front end at the
provider, which asks its API at home for what the worker has brought there. A cell has passed only where both gateways said before and after that they met as below. Those with \`-\`, and those without a line, were not tried yet.

${line(head)}
${line(head.map(() => "---"))}
${rows.map(line).join("\n")}

## How gateways met

| TOPOLOGY | BETWEEN THE GATEWAYS | HOW THEY MET | CELLS |
| --- | --- | --- | --- |
${topologies.map((topology) => line([topology, BETWEEN[topology], wantedWays[topology], String(passed.filter((cell) => cell.topology === topology && cell.way === wantedWays[topology]).length)])).join("\n")}

${failed.length === 0 ? "Nothing failed." : failed.map(({ ranges, families, topology, traffic, reason }) => `- ${ranges}, ${families}, ${topology}, ${traffic}: ${reason}`).join("\n")}

\`\`\`sh
npm run matrix                                        # all of it: an hour on two cores
npm run matrix -- --ranges overlap --families ipv6    # a part, whose results take the place of earlier ones
\`\`\`
`;
}
