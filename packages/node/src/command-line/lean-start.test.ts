import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { leanCommand } from "./lean-start.ts";

const execPath = "/usr/bin/node";

test("a node that runs becomes one with V8's settings, its own flags and options kept", () => {
  const command = leanCommand({ argv: [execPath, "/cli.mjs", "run", "--port=1"], execArgv: ["--cpu-prof"], execPath });
  assert.deepEqual(command?.slice(0, 2), [execPath, "--cpu-prof"]);
  assert.deepEqual(command?.slice(-3), ["/cli.mjs", "run", "--port=1"]);
});

test("what has the settings stays as it is: no process is replaced for ever", () => {
  const argv = [execPath, "/cli.mjs", "run"];
  const execArgv = leanCommand({ argv, execArgv: [], execPath })?.slice(1, -2) ?? [];
  assert.ok(execArgv.length > 0);
  assert.equal(leanCommand({ argv, execArgv, execPath }), undefined);
});

test("a fleet has settings of its own", () => {
  const command = leanCommand({ argv: [execPath, "/cli.mjs", "simulate", "--nodes=1"], execArgv: [], execPath });
  assert.ok(command?.includes("--no-opt"));
  assert.deepEqual(command?.slice(-3), ["/cli.mjs", "simulate", "--nodes=1"]);
});

test("commands that end soon are left alone", () => {
  for (const rest of [["reset"], ["--help"], []]) {
    assert.equal(leanCommand({ argv: [execPath, "/cli.mjs", ...rest], execArgv: [], execPath }), undefined);
  }
});

test("the program still says what its options are", () => {
  const cli = join(import.meta.dirname, "..", "cli.ts");
  const text = execFileSync(process.execPath, [cli, "run", "--help"], { encoding: "utf8" });
  assert.match(text, /--max-pods/);
});
