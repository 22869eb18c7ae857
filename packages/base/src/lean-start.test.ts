import assert from "node:assert/strict";
import { test } from "node:test";
import { leanCommand } from "./lean-start.ts";

const execPath = "/usr/bin/node";
const settings = { run: ["--no-opt", "--max-semi-space-size=2"] };

test("a program that runs becomes one with V8's settings, its own flags and options kept", () => {
  const started = { argv: [execPath, "/cli.mjs", "run", "--port=1"], execArgv: ["--cpu-prof"], execPath };
  assert.deepEqual(leanCommand(started, settings), [
    execPath,
    "--cpu-prof",
    "--no-opt",
    "--max-semi-space-size=2",
    "/cli.mjs",
    "run",
    "--port=1",
  ]);
});

test("what has the settings stays as it is: no process is replaced for ever", () => {
  const argv = [execPath, "/cli.mjs", "run"];
  const execArgv = leanCommand({ argv, execArgv: [], execPath }, settings)?.slice(1, -2) ?? [];
  assert.ok(execArgv.length > 0);
  assert.equal(leanCommand({ argv, execArgv, execPath }, settings), undefined);
});

test("commands that end soon are left alone", () => {
  for (const rest of [["reset"], ["--help"], ["constructor"], []]) {
    assert.equal(leanCommand({ argv: [execPath, "/cli.mjs", ...rest], execArgv: [], execPath }, settings), undefined);
  }
});
