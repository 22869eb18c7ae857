// `npm test [-- PATH-FRAGMENT...]`: unit tests first, side by side; then the tests that drive real Kubernetes, two files
// at a time, and more where these leave the processors unused: each starts control planes of its own, and waits for them.
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { ensureAgent, ensureFjord } from "@fjord/testbed/release";
import { allowInotify, kubernetesSkip, realNodesSkip } from "@fjord/testbed/testing";
import { keepDurations, longestFirst, readDurations } from "./test/known-durations.ts";
import { runNode } from "./test/run-node.ts";
import { runTestFiles } from "./test/test-files.ts";
import { integrationRuns, isIntegration, unitRuns } from "./test/test-runs.ts";

const root = dirname(import.meta.dirname);
const wanted = process.argv.slice(2);
const required = process.env.FJORD_REQUIRE_KUBERNETES === "1";

// Hundreds of processes load the same files: what one has compiled, the others need not.
process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules/.cache/compile");
// Programs in Go, as Kubernetes' are, collect garbage more seldom: they live for seconds, and there is memory.
process.env.GOGC ??= "400";

const files = globSync(["packages/*/{src,browser}/**/*.test.ts", "tools/**/*.test.ts"], { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((fragment) => file.includes(fragment)))
  .sort();
const read = (file: string) => readFileSync(join(root, file), "utf8");
const unit = files.filter((file) => !isIntegration(file));
const integration = files.filter(isIntegration);

if (files.length === 0) {
  console.error(`No test file matches ${wanted.join(", ")}.`);
  process.exit(1);
}

if (required && integration.length > 0) {
  const sets =
    process.getuid?.() === 0
      ? ["--kwok", "--nodes", "--conformance", "--metrics-server", "--old-kubectl", "--browser", "--network"]
      : ["--kwok"];
  heading("Kubernetes binaries (FJORD_REQUIRE_KUBERNETES=1)");
  const { code } = await runNode(["packages/testbed/src/cli.ts", "binaries", ...sets], { cwd: root, minutes: 75 });
  if (code !== 0) {
    console.error("Kubernetes is required (FJORD_REQUIRE_KUBERNETES=1) and could not be had: see above.");
    process.exit(code);
  }
}
if (integration.length > 0) {
  const giveBack = allowInotify();
  if (giveBack !== undefined) {
    console.log("More inotify instances are allowed while the tests run.");
    process.once("exit", giveBack);
  }
}
if (integration.length > 0 || unit.some((file) => read(file).includes("testedFjord()"))) {
  // As it is shipped it starts sooner than from its sources, and hundreds of times.
  process.env.FJORD_TEST_PROGRAM ??= (await ensureFjord(join(root, "node_modules/.cache/fjord/programs"))).file;
}
if (integration.length > 0)
  process.env.FJORD_TEST_AGENT ??= await ensureAgent(join(root, "node_modules/.cache/fjord/agents"));
let status = 0;
if (unit.length > 0) {
  heading(`Unit tests (files: ${unit.length})`);
  // Some wait for processes and timers: one more than there are processors keeps these busy.
  const atATime = availableParallelism() + 1;
  const passed = await runTestFiles(unitRuns(unit, read), {
    cwd: root,
    atATime,
    // Most take a second or two, so that room is soon gone again: it is looked for more often than among longer ones.
    most: 2 * atATime,
    lookMs: 500,
    minutes: 5,
    testTimeout: 120_000,
  });
  status ||= passed ? 0 : 1;
}
if (integration.length > 0) {
  heading(`Tests on real Kubernetes (files: ${integration.length})`);
  // Another kernel, where no processor is lent to it, needs minutes for what others do in seconds.
  const minutes = process.env.FJORD_TEST_KERNEL === "1" ? 60 : 8;
  const durations = join(root, "node_modules/.cache/fjord/durations.json");
  const runs = longestFirst(integrationRuns(integration, read), readDurations(durations));
  const passed = await runTestFiles(runs, {
    cwd: root,
    atATime: 2,
    most: 6,
    minutes,
    again: 2,
    onResults: (results) => keepDurations(durations, results),
  });
  if (status !== 0) console.log("\n✖ unit tests have failed, too: see above.");
  status ||= passed ? 0 : 1;
}
const skipped = required || integration.length === 0 ? [] : [kubernetesSkip(), realNodesSkip()];
for (const reason of skipped) if (reason !== false) console.log(`Some tests were skipped: ${reason}`);
process.exit(status);

function heading(text: string): void {
  console.log(`\n== ${text}`);
}
