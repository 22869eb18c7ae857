// `npm run suites`: the liquid core's suites with consumer and provider on microkube and on Kubernetes, in each
// combination. `--on microkube,1.36` (consumer first) and `--suite escape` choose; both may be given several times.
import { globSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Command } from "commander";
import { COMBINATIONS, SUITES, type Suite, type SuiteResult, substratesFor, tableOf } from "./suites/combinations.ts";
import { runTestFile } from "./test/test-files.ts";

const root = dirname(import.meta.dirname);
const values = new Command("suites")
  .description(
    "The liquid core's suites with consumer and provider on microkube and on Kubernetes, in each combination",
  )
  .option("--suite <name...>", `one of ${Object.keys(SUITES).join(", ")}`, Object.keys(SUITES))
  .option("--on <consumer,provider...>", "what the two sites run on", [...COMBINATIONS])
  .option("--minutes <count>", "how long each file may take", "15")
  .option("--json <file>", "where to write the result to, beside the table that is printed")
  .parse()
  .opts<{ suite: string[]; on: string[]; minutes: string; json?: string }>();
const unknown = values.suite.filter((name) => !Object.hasOwn(SUITES, name));
if (unknown.length > 0) {
  console.error(`There is no suite ${unknown.join(", ")}: only ${Object.keys(SUITES).join(", ")}.`);
  process.exit(2);
}

const results: SuiteResult[] = [];
const isDone = new Map<string, SuiteResult["files"]>();
for (const combination of values.on) {
  for (const suite of values.suite as Suite[]) {
    const substrates = substratesFor(suite, combination);
    const key = `${suite} on ${substrates}`;
    const files = isDone.get(key) ?? (await run(suite, substrates));
    isDone.set(key, files);
    results.push({ suite, combination, files });
  }
}
console.log(`\n${tableOf(results)}`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
process.exit(results.every(({ files }) => files.every(({ ok }) => ok)) ? 0 : 1);

async function run(suite: Suite, substrates: string): Promise<SuiteResult["files"]> {
  console.log(`\n== ${suite} on ${substrates}`);
  const files: SuiteResult["files"][number][] = [];
  for (const file of globSync(SUITES[suite], { cwd: root }).sort()) {
    // Whoever asks for the suites wants them run, not skipped.
    const env = { FJORD_TEST_KUBERNETES: substrates, FJORD_REQUIRE_KUBERNETES: "1" };
    files.push(await runTestFile(file, { cwd: root, minutes: Number(values.minutes), env }));
  }
  return files;
}
