import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Command, Option } from "commander";
import { bashCompletion } from "./completion.ts";

test("bash completes commands, the options of the command that was typed, and their values", (t) => {
  const cwd = mkdtempSync(join(tmpdir(), "completion-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const logs = join(cwd, ".fjord/testbed/site-1/logs");
  mkdirSync(logs, { recursive: true });
  for (const name of ["etcd.log", "kube-apiserver.log"]) writeFileSync(join(logs, name), "");
  const program = new Command("testbed").option("--directory <path>");
  program.command("up").option("--sites <count>").option("--overlap");
  program.command("logs").argument("[site]").argument("[process]");
  program.command("status").addOption(new Option("-o, --output <format>").choices(["table", "json"]));
  program.command("cut").argument("<from>").argument("<to>").option("--one-way");
  const complete = (...words: string[]) =>
    execFileSync(
      "bash",
      [
        "-c",
        `${bashCompletion(program)}
      COMP_WORDS=(testbed ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _testbed
      echo "\${COMPREPLY[@]}"`,
      ],
      { cwd },
    )
      .toString()
      .trim();
  assert.equal(complete("u"), "up");
  assert.equal(complete(""), "up logs status cut --directory");
  assert.equal(complete("up", "--o"), "--overlap");
  assert.equal(complete("cut", "--"), "--one-way --directory");
  assert.equal(complete("status", "-o", ""), "table json");
  assert.equal(complete("status", "--output", "j"), "json");
  assert.equal(complete("logs", "s"), "site-1");
  assert.equal(complete("logs", "site-1", "k"), "kube-apiserver");
});
