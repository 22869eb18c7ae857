import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { systemClock } from "@fjord/base";
import { runCommand } from "./command.ts";
import { eventually, temporaryDirectory } from "./fake-programs.ts";
import { isAlive } from "./lock.ts";

const base = { env: { PATH: "/usr/bin:/bin" }, clock: systemClock, cwd: "/" };

test("a command's standard output is returned", async () => {
  const signal = new AbortController().signal;
  assert.equal(await runCommand("sh", ["-c", "echo one; echo noise >&2; echo two"], { ...base, signal }), "one\ntwo");
});

test("a failing command's error ends with its last lines, without the noise", async () => {
  const signal = new AbortController().signal;
  const onLine = (line: string) => line.startsWith("noise");
  const run = runCommand("sh", ["-c", "for i in $(seq 40); do echo line $i; done; echo noise; exit 7"], {
    ...base,
    signal,
    onLine,
  });
  await assert.rejects(run, (error: Error) => {
    assert.match(error.message, /failed with exit code 7; its last lines:\n {4}line 26\n/);
    assert.match(error.message, /line 40$/);
    return true;
  });
});

test("a command that cannot be started says so", async () => {
  const signal = new AbortController().signal;
  await assert.rejects(runCommand("/nonexistent/go", [], { ...base, signal }), /could not be started/);
});

test("an abort ends the command and what it started", async (t) => {
  const directory = temporaryDirectory(t);
  const controller = new AbortController();
  const script = "sleep 600 & echo $! > child.tmp; mv child.tmp child; wait";
  const run = runCommand("sh", ["-c", script], { ...base, cwd: directory, signal: controller.signal });
  await eventually(() => existsSync(join(directory, "child")));
  const child = Number(readFileSync(join(directory, "child"), "utf8"));
  assert.ok(isAlive(child));
  controller.abort(new Error("enough"));
  await assert.rejects(run, /enough/);
  await eventually(() => !isRunning(child));
});

/** An orphan that nobody has reaped yet still has an id; what counts is that it no longer runs. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
