// docs/benchmarks.md from docs/benchmarks/*.json, which `npm run bench -- NAME --json FILE` writes.
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type BenchmarkRecord, renderReport } from "@fjord/testbed/bench";

export function benchmarksPage(root: string): { path: string; text: string } {
  const results = globSync("docs/benchmarks/*.json", { cwd: root })
    .sort()
    .map((file) => ({
      name: basename(file, ".json"),
      records: JSON.parse(readFileSync(join(root, file), "utf8")) as BenchmarkRecord[],
    }));
  return { path: "docs/benchmarks.md", text: renderReport(results) };
}
