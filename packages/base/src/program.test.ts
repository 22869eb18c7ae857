import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { defineError } from "./errors.ts";
import { failureOf, interruption, lastWords, programLogger } from "./program.ts";

const Spilt = defineError("BASE_TEST_SPILT", "the {what} is spilt", "Do not cry.");

test("a known failure ends with its message and what to do", () => {
  assert.equal(lastWords(new Spilt({ what: "milk" })), "error: the milk is spilt\nDo not cry. [BASE_TEST_SPILT]\n");
});

test("scripts are told of a failure with its code, its message and what to do", () => {
  const cause = new Error("the cat");
  assert.deepEqual(failureOf(new Spilt({ what: "milk" }, { cause })), {
    code: "BASE_TEST_SPILT",
    message: "the milk is spilt: the cat",
    advice: "Do not cry.",
  });
  assert.deepEqual(failureOf(new Error("odd")), { message: "odd" });
});

test("a known failure of another file of the program has its advice too", () => {
  class Elsewhere extends Error {
    static readonly advice = "Look there.";
  }
  assert.equal(lastWords(new Elsewhere("lost")), "error: lost\nLook there.\n");
});

test("a failure of the system needs no stack, a fault of ours does", () => {
  assert.equal(lastWords(Object.assign(new Error("refused"), { syscall: "connect" })), "error: refused\n");
  assert.match(lastWords(new Error("odd")), /^error: odd\nError: odd\n {4}at /);
});

test("log lines have a time, a level and fields; debug is for whoever asks", () => {
  const lines: string[] = [];
  const stderr = { write: (line: string) => lines.push(line) };
  const log = (env: Record<string, string>) => {
    const logger = programLogger({ env, stderr });
    logger.debug("quiet");
    logger.warn("hot", { degrees: 40 });
  };
  log({});
  log({ FJORD_LOG: "debug" });
  const words = lines.map((line) => line.replace(/^\d{4}-\S+Z /, ""));
  assert.deepEqual(words, ["warn  hot degrees=40\n", "debug quiet\n", "warn  hot degrees=40\n"]);
});

test("either signal interrupts", () => {
  for (const signal of ["SIGINT", "SIGTERM"]) {
    const process = Object.assign(new EventEmitter(), { env: {}, stderr: { write: () => {} } });
    const interrupt = interruption(process);
    process.emit(signal);
    assert.match(String(interrupt.signal.reason), /interrupted/);
  }
});

test("a program that has failed ends, whatever it has left open", async () => {
  const open = "import { createServer } from 'node:net'; createServer().listen(0, '127.0.0.1');";
  const fail = `import { endFailed } from ${JSON.stringify(new URL("program.ts", import.meta.url).href)}; endFailed(process, 'over');`;
  const args = ["--input-type=module", "--eval", `${open} ${fail}`];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 10_000 });
  assert.deepEqual([status, stderr], [1, "error: over\n"]);
});
