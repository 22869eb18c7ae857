import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("cli.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "fjord-terminal-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const ESCAPE = "\u001b";
const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const skip = (program: string) => (has(program) ? false : `there is no ${program} here`);

/** What a terminal shows. */
function inTerminal(command: string, env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const clean = { ...process.env, TERM: "xterm-256color", ...env };
    // With CI Node colours only for services that it knows.
    for (const name of ["NO_COLOR", "FORCE_COLOR", "NODE_DISABLE_COLORS", "CI"])
      if (env[name] === undefined) delete clean[name as never];
    execFile("script", ["-qec", command, "/dev/null"], { env: clean }, (_, out) => resolve(out));
  });
}

test("errors are coloured on a terminal, and nowhere else", { skip: skip("script") }, async () => {
  const command = `${process.execPath} ${cli} sites --kubeconfig=${folder}/none`;
  assert.ok((await inTerminal(command)).includes(`${ESCAPE}[31merror:${ESCAPE}[39m `));
  assert.ok(!(await inTerminal(command, { NO_COLOR: "1" })).includes(ESCAPE));
  const { stderr, status } = spawnSync(process.execPath, [cli, "sites", `--kubeconfig=${folder}/none`], {
    env: { ...process.env, FORCE_COLOR: undefined },
  });
  assert.equal(status, 1);
  assert.match(stderr.toString(), /^error: /);
});

test("what is handed on to the test bed arrives there, and so does what it ends with", () => {
  const program = join(folder, "testbed.mjs");
  writeFileSync(program, "console.log(JSON.stringify(process.argv.slice(2))); process.exit(7);");
  const run = (file: string) =>
    spawnSync(process.execPath, [cli, "testbed", "up", "--sites", "2", "-q"], {
      env: { ...process.env, FJORD_TESTBED: file },
    });
  const { stdout, status } = run(program);
  assert.deepEqual([stdout.toString(), status], ['["up","--sites","2","-q"]\n', 7]);
  const none = run(join(folder, "none.mjs"));
  assert.equal(none.status, 1);
  assert.match(none.stderr.toString(), /the test bed is not here: .*\nIt comes with a checkout/);
});
