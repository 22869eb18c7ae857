import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { testedFjord } from "@fjord/testbed/testing";

const cli = testedFjord();
const folder = mkdtempSync(join(tmpdir(), "fjord-completion-"));
/** What was run with Enter, one line each. */
const ran = join(folder, "ran");
const env = {
  ...process.env,
  HOME: folder,
  PATH: `${folder}${delimiter}${process.env.PATH}`,
  KUBECONFIG: `${folder}/none`,
  TERM: "xterm",
};
const LONG_MS = 60_000;
/** What zsh asks of a terminal when it begins to read a line: to mark what is pasted. */
const READS = "\u001b[?2004h";

after(() => rmSync(folder, { recursive: true, force: true }));
before(() => {
  // What people have on their PATH; what is not asked for by a shell is only noted.
  const script = `#!/bin/sh
case $1 in completion|__complete) exec ${process.execPath} ${cli} "$@" ;; esac
printf '%s\\n' "$*" >> ${ran}
`;
  writeFileSync(join(folder, "fjord"), script, { mode: 0o755 });
  writeFileSync(join(folder, "settings.yaml"), "");
});

const skip = (...programs: readonly string[]) => {
  const missing = programs.find((program) => spawnSync(program, ["--version"]).error !== undefined);
  return missing === undefined ? false : `there is no ${missing} here`;
};

test("bash completes by asking the program itself", { skip: skip("bash") }, () => {
  const complete = (...words: readonly string[]) => {
    const typed = words.map((word) => `'${word}'`).join(" ");
    const script = `source <(fjord completion bash); COMP_WORDS=(fjord ${typed}); COMP_CWORD=${words.length}; _fjord; echo "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", script], { env }).toString().trim();
  };
  assert.equal(complete("offload", "--po"), "--pods");
  assert.equal(complete("offload", "--pods", "="), "Local Remote Both");
  assert.equal(complete("micro", "run", "--na"), "--name");
  assert.equal(complete("network", "ex"), "explain");
  assert.equal(complete("network", "explain", "web-1", "--peer-c"), "--peer-context");
  assert.equal(complete("sites", ""), "", "a cluster that is not there has no names, and says nothing");
});

test("fish completes by asking the program itself", { skip: skip("fish") }, () => {
  const expected = {
    "fjord offload --po": ["--pods"],
    "fjord offload --pods ": ["Both", "Local", "Remote"],
    "fjord offload --pods=R": ["--pods=Remote"],
    "fjord micro --na": ["--name"],
    "fjord init --values=sett": ["--values=settings.yaml"],
    // A cluster that is not there has no names, and says nothing.
    "fjord sites ": [],
  };
  const asked = Object.keys(expected).map((line) => `complete -C '${line}'; echo END`);
  const script = ["fjord completion fish | source", ...asked].join("; ");
  const out = execFileSync("fish", ["--no-config", "-c", script], { env, cwd: folder }).toString();
  const words = (lines: string) => lines.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0]]));
  assert.deepEqual(out.split("END\n").slice(0, -1).map(words), Object.values(expected));
});

test("zsh completes what is typed on a terminal", { skip: skip("zsh", "script") }, async () => {
  // `script` gives it a terminal; what it runs after Tab and Enter is what it has completed.
  const shell = spawn("script", ["-qec", "zsh -f -i", "/dev/null"], { env, cwd: folder });
  let shown = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding("utf8").on("data", (text) => (shown += text));
  const until = async (isSo: () => boolean) => {
    for (const end = performance.now() + LONG_MS; !isSo(); await pause(20))
      assert.ok(performance.now() < end && shell.exitCode === null, shown);
  };
  const type = async (text: string) => {
    shown = "";
    shell.stdin.write(text);
    await until(() => shown.includes(READS));
  };
  const lines = () => (existsSync(ran) ? readFileSync(ran, "utf8").split("\n").slice(0, -1) : []);
  const complete = async (line: string) => {
    const count = lines().length;
    await type(`${line}\t\r`);
    await until(() => lines().length > count);
    return lines().at(-1);
  };
  try {
    await until(() => shown.includes(READS));
    await type("source <(fjord completion zsh)\r");
    assert.equal(await complete("fjord offload --po"), "offload --pods");
    assert.equal(await complete("fjord offload --pods=R"), "offload --pods=Remote");
    assert.equal(await complete("fjord offload --pods R"), "offload --pods Remote");
    assert.equal(await complete("fjord micro res"), "micro reset");
    assert.equal(await complete("fjord init --values=sett"), "init --values=settings.yaml");
    assert.equal(await complete("fjord sites "), "sites", "a cluster that is not there has no names");
  } finally {
    shell.stdin.write("exit\r");
    shell.kill();
  }
});
