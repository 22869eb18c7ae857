import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { Command } from "commander";
import { addRun } from "./run-command.ts";

async function refusal(...args: string[]): Promise<string> {
  const said: string[] = [];
  const program = new Command("microkube").exitOverride().configureOutput({ writeErr: (text) => void said.push(text) });
  addRun(program, { env: {}, signal: AbortSignal.abort(), logger: silentLogger, print: () => {} });
  await assert.rejects(program.parseAsync(["run", "--memory", ...args], { from: "user" }), {
    code: "commander.invalidArgument",
  });
  return said.join("");
}

test("a port or range that is none is refused before anything starts, with its option and how to write it", async () => {
  for (const port of ["abc", "65536", "-1", "1e3", ""])
    assert.match(await refusal("--port", port), /option '--port <number>' .* is invalid\. A port is a number from 0/);
  for (const option of ["--service-range", "--pod-range"])
    for (const range of ["bogus", "10.0.0.0", "10.0.0.0/33", "10.0.0/8"]) {
      const said = await refusal(option, range);
      assert.ok(said.includes(`option '${option} <cidr>' argument '${range}' is invalid.`), said);
      assert.match(said, /like 10\.96\.0\.0\/16/);
    }
});

test("the kubeconfig is shown by a path that is good in every folder", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "fjord-microkube-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const printed: string[] = [];
  const program = new Command("microkube").exitOverride();
  addRun(program, {
    env: {},
    signal: AbortSignal.abort(),
    logger: silentLogger,
    print: (text) => void printed.push(text),
  });
  await program.parseAsync(["run", "--port", "0", "--data-dir", relative(process.cwd(), folder)], { from: "user" });
  assert.ok(printed.join("\n").includes(`export KUBECONFIG=${join(folder, "kubeconfig")}\n`), printed.join("\n"));
});

test("what contradicts itself is refused in words", async () => {
  const said: string[] = [];
  const program = new Command("microkube").exitOverride().configureOutput({ writeErr: (text) => void said.push(text) });
  addRun(program, { env: {}, signal: AbortSignal.abort(), logger: silentLogger, print: () => {} });
  await assert.rejects(program.parseAsync(["run", "--memory", "--data-dir", "x"], { from: "user" }));
  assert.match(said.join(""), /option '--memory' cannot be used with option '--data-dir <path>'/);
  assert.match(await refusal("--advertise-address", "nobody"), /An address is written like 192\.0\.2\.7/);
});

test("a folder is where the user of npm stands", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "fjord-microkube-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const printed: string[] = [];
  const program = new Command("microkube").exitOverride();
  const print = (text: string) => void printed.push(text);
  addRun(program, { env: { INIT_CWD: folder }, signal: AbortSignal.abort(), logger: silentLogger, print });
  await program.parseAsync(["run", "--port", "0", "--data-dir", "here"], { from: "user" });
  assert.ok(printed.join("\n").includes(`export KUBECONFIG=${join(folder, "here", "kubeconfig")}\n`));
});
