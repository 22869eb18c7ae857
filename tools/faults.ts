// `npm run faults`: what becomes of a link's traffic when things break, and of a peer that means harm, on real sites. `--long` cuts the link for ten
// minutes and has the API away for three; `--name TEXT` runs only tests whose names have it.
import { globSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { describeProgress, ensurePrograms } from "@fjord/testbed";
import { allowInotify } from "./test/inotify.ts";
import { runNode } from "./test/run-node.ts";

const root = dirname(import.meta.dirname);
const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    name: { type: "string", multiple: true, default: [] },
    file: { type: "string", default: "" },
  },
});
const files = globSync("packages/testbed/src/{faults,hostile}/*.integration.test.ts", { cwd: root })
  .filter((file) => file.includes(values.file))
  .sort();
const progress = (event: Parameters<typeof describeProgress>[0]) => console.log(describeProgress(event));
await ensurePrograms({ env: process.env, sets: ["control-plane", "nodes", "network"], progress });
// Nodes need more of them than many systems allow.
const giveBack = allowInotify();
if (giveBack !== undefined) process.once("exit", giveBack);
const env = {
  FJORD_TEST_FAULTS: "1",
  FJORD_REQUIRE_KUBERNETES: "1",
  ...(values.long && { FJORD_FAULTS_CUT_SECONDS: "600", FJORD_FAULTS_API_SECONDS: "180" }),
};
const names = values.name.map((name) => `--test-name-pattern=${name}`);
const args = ["--test", "--test-concurrency=1", "--test-reporter=spec", ...names, ...files];
const { code } = await runNode(args, { cwd: root, minutes: 90, env });
process.exit(code);
