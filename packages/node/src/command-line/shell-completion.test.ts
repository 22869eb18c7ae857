import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import { bashCompletion, fishCompletion, zshCompletion } from "@fjord/base/shell-completion";
import { Command, Option } from "commander";

function exampleProgram(): Command {
  const program = new Command("fjord-node");
  program
    .command("run")
    .description("run the node's pods")
    .option("--kubeconfig <file>", "how to reach the API")
    .addOption(new Option("--runtime <name>", "what runs pods").choices(["cri", "process"]));
  program.command("reset").option("--state-dir <path>").option("--dry-run");
  program.command("completion").argument("<shell>");
  return program;
}

/** Whether the machine has the shell to try it with. */
function hasShell(shell: string): boolean {
  return spawnSync(shell, ["-c", "exit 0"]).status === 0;
}

test("zsh takes the script", { skip: hasShell("zsh") ? false : "there is no zsh" }, () => {
  const script = `${zshCompletion(exampleProgram())}\nCOMP_WORDS=(fjord-node re); COMP_CWORD=1; print -r -- $_comps[fjord-node]`;
  assert.match(execFileSync("zsh", ["-f", "-c", script]).toString(), /_fjord_node/);
});

test("fish completes commands, options and their values", {
  skip: hasShell("fish") ? false : "there is no fish",
}, () => {
  const complete = (line: string) =>
    execFileSync("fish", ["--no-config", "-c", `${fishCompletion(exampleProgram())}\ncomplete -C '${line}'`])
      .toString()
      .trim()
      .split("\n")
      .map((each) => each.split("\t")[0]);
  assert.deepEqual(complete("fjord-node re"), ["reset"]);
  assert.deepEqual(complete("fjord-node run --runtime p"), ["process"]);
  assert.deepEqual(complete("fjord-node completion z"), ["zsh"]);
});

test("each shell's script names all commands and options, and quotes what people wrote", () => {
  const fish = fishCompletion(exampleProgram());
  assert.match(fish, /-n __fish_use_subcommand -a run -d 'run the node\\'s pods'$/m);
  assert.match(fish, /from run' -l runtime -x -a 'cri process' -d 'what runs pods'$/m);
  assert.match(fish, /from run' -l kubeconfig -r -F -d 'how to reach the API'$/m);
  const zsh = zshCompletion(exampleProgram());
  assert.match(zsh, /bashcompinit/);
  assert.match(zsh, /reset\) offered="--state-dir --dry-run"/);
});

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

test("the options of the command that runs where none is named are offered at once", () => {
  const complete = (...words: string[]) => {
    const typed = words.map((word) => `'${word}'`).join(" ");
    const script = `${bashCompletion(exampleProgram(), "run")}
      COMP_WORDS=(fjord-node ${typed}); COMP_CWORD=${words.length}; _fjord_node; echo "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", script]).toString().trim();
  };
  assert.equal(complete("--k"), "--kubeconfig");
  assert.equal(complete("--runtime", "p"), "process");
  assert.match(fishCompletion(exampleProgram(), "run"), /from run; or __fish_use_subcommand' -l kubeconfig/);
});
