import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { Command, Option } from "commander";
import { bashCompletion } from "./completion-command.ts";

test("bash completes commands, the options of the command that was typed, and their values", () => {
  const program = new Command("fjord-node");
  program
    .command("run")
    .option("--kubeconfig <file>")
    .addOption(new Option("--runtime <name>").choices(["cri", "process"]));
  program.command("reset").option("--state-dir <path>");
  const complete = (...words: string[]) => {
    const typed = words.map((word) => `'${word}'`).join(" ");
    const script = `${bashCompletion(program)}
      COMP_WORDS=(fjord-node ${typed}); COMP_CWORD=${words.length}; _fjord_node; echo "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", script]).toString().trim();
  };
  assert.equal(complete(""), "run reset --help --version");
  assert.equal(complete("re"), "reset");
  assert.equal(complete("run", "--"), "--kubeconfig --runtime");
  assert.equal(complete("run", "--runtime", "p"), "process");
  assert.equal(complete("run", "--kubeconfig", ""), "");
  assert.equal(complete("reset", "--s"), "--state-dir");
});
