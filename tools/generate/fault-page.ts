// docs/faults.md from docs/faults.json, which `npm run faults -- --write` writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type FaultResult, faultPage as pageOf } from "@fjord/testbed/faults";

export function faultPage(root: string): { path: string; text: string } {
  const results = JSON.parse(readFileSync(join(root, "docs/faults.json"), "utf8")) as FaultResult[];
  return { path: "docs/faults.md", text: pageOf(results) };
}
