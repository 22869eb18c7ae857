import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { kubectlProgram, kubernetesSkip } from "@fjord/testbed/testing";
import { type PageStep, pageSteps } from "./page-steps.ts";
import { differenceOf } from "./printed-lines.ts";
import { ShellSession } from "./shell-session.ts";

const root = dirname(dirname(import.meta.dirname));
const cli = join(root, "packages/cli/src/cli.ts");
const FIRST = "getting-started.md";
/** They go on with the sites of the first, before its end. Only where they are asked for: each takes as long as the first. */
const OTHERS = process.env.FJORD_TEST_PAGES === "all" ? ["bursting.md", "device.md"] : [];
const END = "## Clear up";
const PATIENCE_MS = 60_000;
/** Commands that change nothing. */
const LOOKS = /^(kubectl (-\S+ \S+ )*get|fjord (sites|status|logs|explain))( |$)/;

describe("the pages that readers follow", { skip: kubernetesSkip() }, () => {
  const home = mkdtempSync(join(tmpdir(), "fjord-pages-"));
  let shell: ShellSession;
  let failed = false;

  before(() => {
    mkdirSync(join(home, "bin"));
    symlinkSync(kubectlProgram("1.36"), join(home, "bin", "kubectl"));
    const { KUBECONFIG: _, ...env } = process.env;
    const PATH = `${join(home, "bin")}${delimiter}${env.PATH}`;
    shell = new ShellSession({ cwd: root, env: { ...env, HOME: home, PATH, NO_COLOR: "1" } });
  });
  after(async () => {
    await shell.close();
    for (const pid of processesOf(home)) spawnSync("kill", ["-KILL", pid]);
    // What a page that failed has left: its sites know what is to be removed.
    for (const site of sitesIn(home)) spawnSync(process.execPath, [cli, "micro", "reset", `--state-dir=${site}`]);
    rmSync(home, { recursive: true, force: true });
  });

  for (const { name, text } of chapters())
    test(`${name}: what it tells to type does what it says`, async (t) => {
      if (failed) return t.skip("an earlier page has failed");
      failed = true;
      for (const step of pageSteps(text)) await follow(shell, step, `docs/${name}`);
      failed = false;
    });

  test("nothing is left", async (t) => {
    if (failed) return t.skip("a page has failed");
    await shell.close();
    assert.deepEqual(processesOf(home), []);
    assert.deepEqual(readdirSync(home).sort(), [".kube", "bin"]);
  });
});

/** What the reader follows, in that order, at addresses of our own: others may do the same on this machine. */
function chapters(): { name: string; text: string }[] {
  const [a, b, c] = [33 + randomInt(30), randomInt(250), 120 + randomInt(8)];
  const read = (page: string) =>
    readFileSync(join(root, "docs", page), "utf8")
      .replaceAll("127.7.7.", `127.${a}.${b}.`)
      .replaceAll("127.120.", `127.${c}.`);
  const first = read(FIRST);
  const end = first.indexOf(END);
  assert.ok(end > 0, `${FIRST} has no ${END}`);
  return [
    { name: FIRST, text: first.slice(0, end) },
    ...OTHERS.map((name) => ({ name, text: read(name) })),
    // Lines keep their numbers.
    { name: `${FIRST}, the end`, text: "\n".repeat(first.slice(0, end).split("\n").length - 1) + first.slice(end) },
  ];
}

/** Types a command, and compares. What only looks is typed again while it shows something else, as a reader would. */
async function follow(shell: ShellSession, { command, line, prints }: PageStep, page: string): Promise<void> {
  const difference = (printed: string) => (prints === undefined ? undefined : differenceOf(prints, printed));
  const isSeen = (printed: string) => difference(printed) === undefined;
  for (const end = performance.now() + PATIENCE_MS; ; await pause(200)) {
    const { status, printed, said } = await shell.type(command, { patienceMs: PATIENCE_MS, isSeen });
    if (status === 0 && isSeen(printed)) return;
    if (LOOKS.test(command) && performance.now() < end) continue;
    const all = `${page}:${line}\n$ ${command}\n${printed}${said}\nended with ${status}`;
    assert.equal(status, 0, all);
    assert.equal(difference(printed), undefined, all);
  }
}

function sitesIn(home: string): string[] {
  const files = globSync("*/*/kubeconfig", { cwd: home });
  return files.map((file) => join(home, dirname(file)));
}

/** Whatever was started for the reader's home. */
function processesOf(home: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return pid !== String(process.pid) && (words.includes(home) || readlinkSync(`/proc/${pid}/cwd`).startsWith(home));
    } catch {
      return false;
    }
  });
}
