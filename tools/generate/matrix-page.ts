// docs/matrix.md from docs/matrix.json, which `npm run matrix` writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Cell, matrixPage as pageOf } from "@fjord/testbed/matrix";

export function matrixPage(root: string): { path: string; text: string } {
  const cells = JSON.parse(readFileSync(join(root, "docs/matrix.json"), "utf8")) as Cell[];
  return { path: "docs/matrix.md", text: pageOf(cells) };
}
