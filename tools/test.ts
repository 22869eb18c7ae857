// `npm test [-- PATH-FRAGMENT...]`: unit tests first, side by side; then the tests that drive real Kubernetes, two files
// at a time: each starts control planes of its own, and waits for them more than it computes.
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { kubernetesSkip, realNodesSkip } from "@fjord/testbed/testing";

const root = dirname(import.meta.dirname);
const wanted = process.argv.slice(2);
const required = process.env.FJORD_REQUIRE_KUBERNETES === "1";

const files = globSync(["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"], { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((fragment) => file.includes(fragment)))
  .sort();
const integration = files.filter((file) => file.endsWith(".integration.test.ts"));
const unit = files.filter((file) => !integration.includes(file));

if (files.length === 0) {
  console.error(`No test file matches ${wanted.join(", ")}.`);
  process.exit(1);
}

let status = 0;
if (required && integration.length > 0) {
  const sets = process.getuid?.() === 0 ? ["--kwok", "--nodes", "--conformance", "--metrics-server"] : ["--kwok"];
  heading("Kubernetes binaries (FJORD_REQUIRE_KUBERNETES=1)");
  status = await node(["packages/testbed/src/cli.ts", "binaries", ...sets], 75);
  if (status !== 0) {
    console.error("Kubernetes is required (FJORD_REQUIRE_KUBERNETES=1) and could not be had: see above.");
    process.exit(status);
  }
}
if (unit.length > 0) {
  heading(`Unit tests (files: ${unit.length})`);
  status ||= await node(
    ["--test", `--test-concurrency=${availableParallelism()}`, "--test-timeout=120000", ...unit],
    10,
  );
}
if (integration.length > 0) {
  heading(`Tests on real Kubernetes (files: ${integration.length})`);
  const result = await node(["--test", "--test-concurrency=2", "--test-timeout=600000", ...integration], 45);
  status ||= result;
}
const skipped = required || integration.length === 0 ? [] : [kubernetesSkip(), realNodesSkip()];
for (const reason of skipped) if (reason !== false) console.log(`Some tests were skipped: ${reason}`);
process.exit(status);

function heading(text: string): void {
  console.log(`\n== ${text}`);
}

/** Runs node in a process group of its own, so that a test file that hangs is ended with all that it started. */
function node(args: string[], minutes: number): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: "inherit", detached: true });
  const send = (signal: NodeJS.Signals) => process.kill(-(child.pid as number), signal);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, send);
  const watchdog = setTimeout(() => {
    console.error(`\nNo end after ${minutes} minutes: a test file hangs. The lines above say which ones have ended.`);
    send("SIGKILL");
  }, minutes * 60_000);
  return new Promise((resolve) => {
    child.on("exit", (code) => {
      clearTimeout(watchdog);
      for (const signal of signals) process.off(signal, send);
      resolve(code ?? 1);
    });
  });
}
