// `npm run faults`: what becomes of a link's traffic when things break, and of a peer that means harm, with a table at the end. `--long` cuts the link for ten
// minutes and has the API away for three; `--name TEXT` runs only tests whose names have it; `--write` has docs/faults.md say what was measured.
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describeProgress, ensurePrograms } from "@fjord/testbed";
import { type FaultResult, faultPage, HEADINGS, resultsText, rowOf, withResults } from "@fjord/testbed/faults";
import { allowInotify } from "@fjord/testbed/testing";
import { Command } from "commander";
import { runNode } from "./test/run-node.ts";

const root = dirname(import.meta.dirname);
const values = new Command("faults")
  .description(
    "What becomes of a link's traffic when things break, and of a peer that means harm, on real nodes (root)",
  )
  .option("--long", "cut the link for ten minutes, and have the API away for three", false)
  .option("--name <text...>", "only tests whose names have it", [])
  .option("--file <text>", "only files whose paths have it", "")
  .option("--write", "have docs/faults.md say what was measured", false)
  .parse()
  .opts<{ long: boolean; name: string[]; file: string; write: boolean }>();
const files = ["packages/testbed/src/faults/*.integration.test.ts", "packages/continuum/src/network/gateway/hostile.*"]
  .flatMap((pattern) => globSync(pattern, { cwd: root }).sort())
  .filter((file) => file.includes(values.file));
const progress = (event: Parameters<typeof describeProgress>[0]) => console.log(describeProgress(event));
await ensurePrograms({ env: process.env, sets: ["control-plane", "nodes", "network"], progress });
// Nodes need more of them than many systems allow.
const giveBack = allowInotify();
if (giveBack !== undefined) process.once("exit", giveBack);
const directory = mkdtempSync(join(tmpdir(), "fjord-faults-"));
const record = join(directory, "results");
writeFileSync(record, "");
const env = {
  FJORD_TEST_FAULTS: "1",
  FJORD_REQUIRE_KUBERNETES: "1",
  FJORD_FAULTS_RECORD: record,
  ...(values.long && { FJORD_FAULTS_CUT_SECONDS: "600", FJORD_FAULTS_API_SECONDS: "180" }),
};
const version = versionHere();
const names = values.name.map((name) => `--test-name-pattern=${name}`);
const args = ["--test", "--test-concurrency=1", "--test-reporter=spec", ...names, ...files];
// Also where somebody ends it before: what was measured by then was.
process.once("exit", tell);
const { code } = await runNode(args, { cwd: root, minutes: 90, env });
process.exit(code);

function tell(): void {
  const lines = readFileSync(record, "utf8").split("\n");
  rmSync(directory, { recursive: true });
  const results = lines.flatMap((line) => (line === "" ? [] : [{ ...(JSON.parse(line) as FaultResult), ...version }]));
  if (results.length === 0) return;
  console.log(`\n${[HEADINGS, ...results.map(rowOf)].map((row) => row.join(" | ")).join("\n")}`);
  if (!values.write) return;
  const file = join(root, "docs/faults.json");
  const all = withResults(JSON.parse(readFileSync(file, "utf8")) as FaultResult[], results);
  writeFileSync(file, resultsText(all));
  writeFileSync(join(root, "docs/faults.md"), faultPage(all));
}

/** What is measured, where it is a checkout. */
function versionHere(): Pick<FaultResult, "version"> {
  try {
    return { version: execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim() };
  } catch {
    return {};
  }
}
