import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { assertTour, startTestDemo } from "./test-demo.ts";

const run = promisify(execFile);

test("the demo leaves nothing when it is interrupted, clears up after a crash, and plays its tour", {
  timeout: 600_000,
}, async (t) => {
  const parent = mkdtempSync(join(tmpdir(), "fjord-demo-"));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const directory = join(parent, "demo");
  const demo = (...flags: string[]) => {
    const started = startTestDemo(`--directory=${directory}`, ...flags);
    t.after(() => started.child.kill("SIGKILL"));
    return started;
  };

  const interrupted = demo();
  await interrupted.says(/ is there/);
  const [, site = ""] = /(\S+) is there/.exec(interrupted.output()) ?? [];
  for (const pid of processesOf(join(directory, site))) process.kill(Number(pid), "SIGKILL");
  await interrupted.says(new RegExp(`${site} has ended \\(SIGKILL\\)`));
  interrupted.child.kill("SIGINT");
  assert.equal(await interrupted.ended, 130, interrupted.output());
  assert.deepEqual([existsSync(directory), processesOf(directory)], [false, []]);

  const crashed = demo();
  await crashed.says(/ is there/);
  crashed.child.kill("SIGKILL");
  await once(crashed.child, "exit");
  assert.notDeepEqual(processesOf(directory), [], "its sites go on without it");

  const tour = demo("--tour");
  await tour.says(/Ready after/);
  const second = demo("--once");
  assert.equal(await second.ended, 1);
  assert.match(second.output(), /error: the demo runs already in .* as process \d+\nUse that one/);
  const shell = async (command: string) => (await run("/bin/sh", ["-c", `. ${directory}/env && ${command}`])).stdout;
  assert.match(await shell("demo pods shop"), /^worker-\S+ +1\/1 +Running +harbor$/m);
  const link = (await shell("demo page")).trim();
  assert.match(link, /^http:\/\/127\.31\.\d+\.1:7446\/#login=\S+$/);
  assert.match(await (await fetch(link)).text(), /<html/);

  const status = await tour.ended;
  const shown = tour.output();
  assert.equal(status, 0, shown);
  assertTour(shown);
  assert.deepEqual([existsSync(directory), processesOf(directory)], [false, []]);
});

/** Whatever runs in the directory, or for it: the demo's sites, and their pods. */
function processesOf(directory: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const isSelf = pid === String(process.pid);
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return !isSelf && (words.includes(directory) || readlinkSync(`/proc/${pid}/cwd`).startsWith(directory));
    } catch {
      return false;
    }
  });
}
