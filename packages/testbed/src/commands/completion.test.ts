import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { Command } from "commander";
import { bashCompletion } from "./completion.ts";

test("bash completes commands, and the options of the command that was typed", () => {
  const program = new Command("testbed").option("--directory <path>");
  program.command("up").option("--sites <count>").option("--overlap");
  program.command("cut").argument("<from>").argument("<to>").option("--one-way");
  const complete = (...words: string[]) =>
    execFileSync("bash", [
      "-c",
      `${bashCompletion(program)}
      COMP_WORDS=(testbed ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _testbed
      echo "\${COMPREPLY[@]}"`,
    ])
      .toString()
      .trim();
  assert.equal(complete("u"), "up");
  assert.equal(complete(""), "up cut --directory");
  assert.equal(complete("up", "--o"), "--overlap");
  assert.equal(complete("cut", "--"), "--one-way --directory");
});
